import { Fault, invalidRequest } from "../fault.ts";
import type { Call } from "./call.ts";
import { pathOf } from "./problems.ts";

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
export function readBytes(call: Call, limitBytes = bodyLimitBytes): Uint8Array {
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
  if (call.body.byteLength > limitBytes) throw tooLarge(limitBytes);
  return call.body;
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
export function readJson(call: Call, limitBytes: number): unknown {
  const bytes = readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Fault("unsupported_media", "Send the body as application/json.");
  }
  return parseJson(decodeUtf8(bytes));
}

/**
 * Returns the value of a body that is JSON of any content type; an empty object if it is empty. Throws Fault as
 * `readBytes` and `parseJson` do.
 */
export function readOptionalJson(call: Call, limitBytes?: number): unknown {
  const bytes = readBytes(call, limitBytes);
  return bytes.byteLength === 0 ? {} : parseJson(decodeUtf8(bytes));
}

/**
 * Parses a JSON text. Throws Fault `invalid` if it is not JSON or contains ill-formed Unicode, and `too_large` as
 * `refuseHugeJson` does.
 */
export function parseJson(text: string): unknown {
  refuseHugeJson(text);
  if (text === "") throw new Fault("invalid", "The body is missing.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Fault("invalid", "The body must be well-formed JSON.");
  }
  // The text is well-formed UTF-8, so only an escape sequence can produce a lone surrogate.
  const keys = /\\ud[89a-f]/i.test(text) ? findIllFormed(value) : undefined;
  if (keys === undefined) return value;
  const path = pathOf(keys);
  throw invalidRequest([{ path: path.length > 500 ? "…" : path, reason: "must be well-formed Unicode" }]);
}

/** Returns the path of a string with a lone surrogate, or of the object with such a key. */
function findIllFormed(value: unknown, at: readonly PropertyKey[] = []): readonly PropertyKey[] | undefined {
  if (typeof value === "string") return value.isWellFormed() ? undefined : at;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return at;
    const found = findIllFormed(inner, [...at, Array.isArray(value) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The longest valid request of the connector has about 1,000 values. */
const maxJsonValues = 10_000;
const maxJsonDepth = 64;

const quote = '"'.charCodeAt(0);
const backslash = "\\".charCodeAt(0);
const comma = ",".charCodeAt(0);
const [openList, closeList] = ["[".charCodeAt(0), "]".charCodeAt(0)];
const [openObject, closeObject] = ["{".charCodeAt(0), "}".charCodeAt(0)];

/**
 * Throws Fault `too_large` for a JSON text with too many values or too deep nesting. Counts them before anything is
 * parsed, because a body of small values costs far more than one of the same length with few: 40 to 80 ms of the event
 * loop for 1 MiB, against 5 ms. A text that is not JSON may pass.
 */
export function refuseHugeJson(text: string): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === closeList || code === closeObject) depth -= 1;
    else if (code === comma || code === openList || code === openObject) {
      values += 1;
      if (code !== comma) depth += 1;
      if (depth > maxJsonDepth) throw tooHuge(`be nested deeper than ${maxJsonDepth} levels`);
      if (values > maxJsonValues) throw tooHuge(`have more than ${maxJsonValues} values`);
    }
  }
}

const tooHuge = (what: string): Fault => new Fault("too_large", `The body must not ${what}.`);

/** Returns the position of the quotation mark that ends a string; at least the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== quote && at < text.length; code = text.charCodeAt(at)) {
    at += code === backslash ? 2 : 1;
  }
  return at;
}
