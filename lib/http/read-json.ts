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

/** A JSON body; 415 for another type, 400 for what is no JSON or holds ill-formed Unicode. */
export async function readJson(call: Call): Promise<unknown> {
  const bytes = await readBytes(call);
  const type = (call.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Fault("unsupported_media", "Send the body as application/json.");
  }
  const value = parse(decode(bytes));
  const badPath = illFormed(value);
  if (badPath !== undefined) {
    throw new Fault("invalid", "The request is not valid.", {
      problems: [{ path: badPath, reason: "must be well-formed Unicode" }],
    });
  }
  return value;
}

const tooLarge = (): Fault => new Fault("too_large", `The body must not be larger than ${bodyLimitBytes} bytes.`);

/** The text of UTF-8 bytes; 400 where they are none. */
export function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("invalid", "The body must be well-formed UTF-8.");
  }
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
