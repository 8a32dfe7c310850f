import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";
import { decode, fieldLimit, mediaType, parseJson, readBytes } from "./read-body.ts";
import { once, readPairs, readQuery } from "./read-pairs.ts";

type Fields = Record<string, unknown>;

/**
 * Returns the parameters of a call of the auth server: the query, and for a POST the body too (form, multipart or a JSON object),
 * where the body wins. Throws Fault for a field that is given twice in one place, and for too many (decision G4).
 */
export async function readFields(call: Call, limitBytes: number): Promise<Fields> {
  const query = readQuery(call.url);
  return call.method === "POST" ? Object.assign(query, await bodyFields(call, limitBytes)) : query;
}

const tooMany = (): Fault => new Fault("too_large", `The body must not have more than ${fieldLimit} fields.`);

async function bodyFields(call: Call, limitBytes: number): Promise<Fields> {
  const bytes = await readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type === "application/x-www-form-urlencoded") return readPairs(decode(bytes), tooMany);
  if (type === "multipart/form-data") return once(await multipart(call, bytes), tooMany);
  if (bytes.byteLength === 0) return {};
  if (type !== "application/json") {
    throw new Fault("unsupported_media", "Send parameters as a form, as multipart/form-data or as a JSON object.");
  }
  const text = decode(bytes);
  const names = namesIn(text);
  if (names.length > fieldLimit) throw tooMany();
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault("invalid", "The body must be a JSON object.");
  }
  // The parser keeps only the last value of a repeated name.
  once(
    names.map(name => [JSON.parse(name), ""]),
    tooMany,
  );
  return Object.assign(Object.create(null), value);
}

/** Returns the names at the top of a JSON object as they are written, each as often as it is there; one more than the limit at most. */
function namesIn(object: string): readonly string[] {
  const names: string[] = [];
  let depth = 0;
  for (let at = 0; at < object.length && names.length <= fieldLimit; at++) {
    const character = object[at];
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    else if (character === '"') {
      const end = endOfString(object, at);
      if (depth === 1 && isFollowedByColon(object, end)) names.push(object.slice(at, end + 1));
      at = end;
    }
  }
  return names;
}

/** Returns the position of the quotation mark that ends a string; the end of the text or one behind it where none does. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

function isFollowedByColon(text: string, position: number): boolean {
  let at = position + 1;
  while (/[ \t\r\n]/.test(text[at] ?? "")) at += 1;
  return text[at] === ":";
}

/** Returns the fields of a multipart form. Files are none of our parameters, but count as fields. */
async function multipart(call: Call, bytes: Uint8Array): Promise<Iterable<readonly [string, string]>> {
  const type = call.headers.get("content-type") ?? "";
  const found = /;\s*boundary=(?:"([^"\\]*)"|([^\s;"\\]*))/i.exec(type);
  const boundary = found?.[1] ?? found?.[2] ?? "";
  // Counted before it is parsed: one delimiter before each part and one at the end.
  if (decode(bytes).split(`--${boundary}`, fieldLimit + 3).length > fieldLimit + 2) throw tooMany();
  try {
    // Parsed by the boundary that was counted: the header may have another one in a place where a parser looks first.
    const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
    const form = await new Response(new Uint8Array(bytes), { headers }).formData();
    return [...form].filter((field): field is [string, string] => typeof field[1] === "string");
  } catch {
    throw new Fault("invalid", "The body must be well-formed multipart/form-data.");
  }
}
