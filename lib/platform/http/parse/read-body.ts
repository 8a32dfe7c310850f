import { Fault, invalidRequest } from "../../fault.ts";
import type { Call } from "../call.ts";
import { refuseHugeJson } from "./json-bounds.ts";

/** Maximum body size of an administrator's function. Each API has a smaller one (G4). */
export const bodyLimitBytes = 1_048_576;

/**
 * Maximum body size in the Functions host, its app setting `FUNCTIONS_REQUEST_BODY_SIZE_LIMIT`. The host reads a body
 * into memory before any function runs and responds to a larger one with an empty 500, so that a body little over the
 * limit of an API still gets its 413.
 */
export const hostBodyLimitBytes = bodyLimitBytes + 65_536;

/** Maximum number of form fields, JSON fields and query parameters in the `fields` input style. */
export const fieldLimit = 32;

/**
 * Returns the body's bytes. Throws Fault `length_required` for a chunked body, because the host delivers it empty,
 * `unsupported_media` for a compressed one, and `too_large`.
 */
export async function readBytes(call: Call, limitBytes = bodyLimitBytes): Promise<Uint8Array> {
  if (/\bchunked\b/i.test(call.headers.get("transfer-encoding") ?? "")) {
    throw new Fault(
      "length_required",
      "Send the body with Content-Length. Transfer-Encoding: chunked is not supported.",
    );
  }
  if (/\b(gzip|deflate|br|zstd|compress)\b/i.test(call.headers.get("content-encoding") ?? "")) {
    throw new Fault("unsupported_media", "Send the body uncompressed. Content-Encoding is not supported.");
  }
  if (Number(call.headers.get("content-length") ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const bytes = await call.body();
  if (bytes.byteLength > limitBytes) throw tooLarge(limitBytes);
  return bytes;
}

const tooLarge = (limitBytes: number): Fault =>
  new Fault("too_large", `The body must not be larger than ${limitBytes} bytes.`);

/** Returns the text of UTF-8 bytes. Throws Fault `invalid` for ill-formed UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("invalid", "The request must be well-formed UTF-8.");
  }
}

/** Returns the media type in lower case without parameters; empty if there is no content type. */
export const mediaType = (call: Call): string =>
  (call.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Returns the value of a JSON body. Throws Fault `unsupported_media` for another content type, `invalid`, and as
 * `readBytes` does.
 */
export async function readJson(call: Call, limitBytes: number): Promise<unknown> {
  const bytes = await readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Fault("unsupported_media", "Send the body as application/json.");
  }
  return parseJson(decodeUtf8(bytes));
}

/**
 * Parses a JSON text. Throws Fault `invalid` if it is not JSON or contains ill-formed Unicode, and `too_large` as
 * `refuseHugeJson` does.
 */
export function parseJson(text: string): unknown {
  refuseHugeJson(text);
  const value = parse(text);
  // The text is well-formed UTF-8, so only an escape sequence can produce a lone surrogate.
  const path = /\\ud[89a-f]/i.test(text) ? findIllFormed(value) : undefined;
  if (path === undefined) return value;
  throw invalidRequest([{ path, reason: "must be well-formed Unicode" }]);
}

function parse(text: string): unknown {
  if (text === "") throw new Fault("invalid", "The body is missing.");
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault("invalid", "The body must be well-formed JSON.");
  }
}

/** An object or array in a JSON value, linked to its parent, so that a path is built only for a problem. */
interface Node {
  readonly value: object;
  readonly key: string;
  readonly parent?: Node;
}

/**
 * Returns the path of a string or key with a lone surrogate. Uses a stack instead of recursion, because nesting can be
 * deep.
 */
function findIllFormed(root: unknown): string | undefined {
  const open: Node[] = [{ value: { "": root }, key: "" }];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const key in node.value) {
      const value = (node.value as Record<string, unknown>)[key];
      if (!key.isWellFormed()) return pathTo(node);
      if (typeof value === "string" && !value.isWellFormed()) return pathTo({ value: {}, key, parent: node });
      if (typeof value === "object" && value !== null) open.push({ value, key, parent: node });
    }
  }
  return undefined;
}

/** Returns the path of a node as its sender would write it, or "…" if the path is longer than 500 characters. */
function pathTo(node: Node): string {
  let path = "";
  for (let at: Node | undefined = node; at !== undefined; at = at.parent) {
    const isElement = Array.isArray(at.parent?.value);
    path = `${isElement ? `[${at.key}]` : at.key}${path === "" || path.startsWith("[") ? "" : "."}${path}`;
    if (path.length > 500) return "…";
  }
  return path.replace(/^\.+/, "");
}
