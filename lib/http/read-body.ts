import { Fault } from "../fault.ts";
import type { Call } from "./call.ts";

/** The largest body that is read (decision G4). */
export const bodyLimitBytes = 1_048_576;

/** The body's bytes, within the limit; 411 for a chunked one, which the host delivers empty (decision G4). */
export async function readBytes(call: Call): Promise<Uint8Array> {
  if (/\bchunked\b/i.test(call.headers.get("transfer-encoding") ?? "")) {
    throw new Fault(
      "length_required",
      "Send the body with Content-Length; a body with Transfer-Encoding: chunked is not received.",
    );
  }
  if (Number(call.headers.get("content-length") ?? 0) > bodyLimitBytes) throw tooLarge();
  const bytes = await call.body();
  if (bytes.byteLength > bodyLimitBytes) throw tooLarge();
  return bytes;
}

const tooLarge = (): Fault => new Fault("too_large", `The body must not be larger than ${bodyLimitBytes} bytes.`);

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

/** The value of a JSON body; 400 for what is no JSON or holds ill-formed Unicode. */
export function parseJson(bytes: Uint8Array): unknown {
  const value = parse(decode(bytes));
  const path = illFormed(value);
  if (path === undefined) return value;
  throw new Fault("invalid", "The request is not valid.", {
    problems: [{ path, reason: "must be well-formed Unicode" }],
  });
}

/** The pairs of a query or a form, each name at most once; 400 for a repeated one and for escapes that are no UTF-8 (decision G4). */
export function readPairs(text: string): Record<string, string> {
  for (const [escapes] of text.matchAll(/(?:%[0-9a-f]{2})+/gi)) decode(Buffer.from(escapes.replaceAll("%", ""), "hex"));
  return once(new URLSearchParams(text));
}

/** Fields by name; a repeated one is refused, because the host's own map would have merged it (decision G4). */
export function once(pairs: Iterable<readonly [string, string]>): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) {
    if (name in fields) {
      const problems = [{ path: name, reason: "must be given once" }];
      throw new Fault("invalid", "The request is not valid.", { problems });
    }
    fields[name] = value;
  }
  return fields;
}

function parse(text: string): unknown {
  if (text === "") throw new Fault("invalid", "The body is missing.");
  try {
    return JSON.parse(text);
  } catch {
    throw new Fault("invalid", "The body must be well-formed JSON.");
  }
}

/** Path of the first string or key with a lone surrogate. A list of places to look, not recursion: nesting may be deep. */
function illFormed(root: unknown): string | undefined {
  const open: { value: unknown; path: string }[] = [{ value: root, path: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value === "string" && !value.isWellFormed()) return path;
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      const at = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      if (!key.isWellFormed()) return path;
      open.push({ value: inner, path: at.length > 500 ? "…" : at });
    }
  }
  return undefined;
}
