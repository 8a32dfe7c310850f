import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";

/** The largest body that any API reads (decision G4). */
export const bodyLimitBytes = 1_048_576;

/** The most fields of a form or of a JSON object with fields, and the most parameters of a query (decision G4). */
export const fieldLimit = 32;

/** Returns the body's bytes. Throws Fault: 411 for a chunked body, which the host delivers empty, 413 for one over the limit (decision G4). */
export async function readBytes(call: Call, limitBytes = bodyLimitBytes): Promise<Uint8Array> {
  if (/\bchunked\b/i.test(call.headers.get("transfer-encoding") ?? "")) {
    throw new Fault(
      "length_required",
      "Send the body with Content-Length; a body with Transfer-Encoding: chunked is not received.",
    );
  }
  if (Number(call.headers.get("content-length") ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const bytes = await call.body();
  if (bytes.byteLength > limitBytes) throw tooLarge(limitBytes);
  return bytes;
}

const tooLarge = (limitBytes: number): Fault =>
  new Fault("too_large", `The body must not be larger than ${limitBytes} bytes.`);

/** The text of UTF-8 bytes; 400 where they are none. */
export function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("invalid", "The request must be well-formed UTF-8.");
  }
}

/** The media type without parameters, lower case; empty where there is none. */
export const mediaType = (call: Call): string =>
  (call.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** Returns the value of a JSON text. Throws Fault `invalid` for a text that is no JSON or contains ill-formed Unicode. */
export function parseJson(text: string): unknown {
  const value = parse(text);
  // The text itself is well-formed: only an escape can make a lone surrogate.
  const path = /\\ud[89a-f]/i.test(text) ? illFormed(value) : undefined;
  if (path === undefined) return value;
  throw new Fault("invalid", "The request is not valid.", {
    problems: [{ path, reason: "must be well-formed Unicode" }],
  });
}

function parse(text: string): unknown {
  if (text === "") throw new Fault("invalid", "The body is missing.");
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault("invalid", "The body must be well-formed JSON.");
  }
}

/** One object or array of a JSON value; its path is composed only when a problem is found. */
interface Node {
  readonly value: object;
  readonly key: string;
  readonly parent?: Node;
}

/** Returns the path of a string or key with a lone surrogate. Uses a list, not recursion, because nesting can be deep. */
function illFormed(root: unknown): string | undefined {
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

/** Returns the path of a node as its sender would write it; of a long one only the end. */
function pathTo(node: Node): string {
  let path = "";
  for (let at: Node | undefined = node; at !== undefined; at = at.parent) {
    const isElement = Array.isArray(at.parent?.value);
    path = `${isElement ? `[${at.key}]` : at.key}${path === "" || path.startsWith("[") ? "" : "."}${path}`;
    if (path.length > 500) return "…";
  }
  return path.replace(/^\.+/, "");
}
