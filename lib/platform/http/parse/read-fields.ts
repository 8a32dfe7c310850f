import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";
import { endOfString } from "./json-bounds.ts";
import { decodeUtf8, fieldLimit, mediaType, parseJson, readBytes } from "./read-body.ts";
import { readPairs, readQuery, toUniqueFields } from "./read-pairs.ts";

type Fields = Record<string, unknown>;

/**
 * Returns the fields of a call: the query and, for a POST, the body (form, multipart or JSON object), which has precedence. Throws
 * Fault `invalid` for a field that occurs twice in query or body, and `too_large` for too many fields (G4).
 */
export async function readFields(call: Call, limitBytes: number): Promise<Fields> {
  const query = readQuery(call.url);
  return call.method === "POST" ? Object.assign(query, await bodyFields(call, limitBytes)) : query;
}

const tooMany = (): Fault => new Fault("too_large", `The body must not have more than ${fieldLimit} fields.`);

async function bodyFields(call: Call, limitBytes: number): Promise<Fields> {
  const bytes = await readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type === "application/x-www-form-urlencoded") return readPairs(decodeUtf8(plusToBlank(bytes)), tooMany);
  if (type === "multipart/form-data") return toUniqueFields(await multipart(call, bytes), tooMany);
  if (bytes.byteLength === 0) return {};
  if (type !== "application/json") {
    throw new Fault("unsupported_media", "Send parameters as a form, as multipart/form-data or as a JSON object.");
  }
  const text = decodeUtf8(bytes);
  const names = namesIn(text);
  if (names.length > fieldLimit) throw tooMany();
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault("invalid", "The body must be a JSON object.");
  }
  // Checks for repeated names, because JSON.parse keeps only the last value of each.
  toUniqueFields(
    names.map(name => [JSON.parse(name), ""]),
    tooMany,
  );
  return Object.assign(Object.create(null), value);
}

const [plus, blank] = ["+".charCodeAt(0), " ".charCodeAt(0)];

/**
 * Replaces every plus sign by the blank that it stands for in a form. The parser would do the same, but for a form of plus signs it takes
 * a hundred times as long.
 */
function plusToBlank(bytes: Uint8Array): Uint8Array {
  // Not `slice`, which shares the memory of a Buffer.
  const replaced = Uint8Array.from(bytes);
  for (let at = 0; at < replaced.length; at++) if (replaced[at] === plus) replaced[at] = blank;
  return replaced;
}

/** Returns the top-level names in the text of a JSON object, with repetitions. Stops one name after the limit. */
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

function isFollowedByColon(text: string, position: number): boolean {
  let at = position + 1;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return text[at] === ":";
}

/** Maximum length of the headers of a part. The parser takes up to 40 ms for 64 KiB of them. */
const partHeaderLimit = 2048;

const hasTooLongHeaders = (part: string): boolean =>
  part.length > partHeaderLimit && !part.slice(0, partHeaderLimit).includes("\r\n\r\n");

/** Returns the text fields of a multipart form. Files are dropped, but count towards the limit. */
async function multipart(call: Call, bytes: Uint8Array): Promise<Iterable<readonly [string, string]>> {
  const type = call.headers.get("content-type") ?? "";
  const match = /;\s*boundary=(?:"([^"\\]*)"|([^\s;"\\]*))/i.exec(type);
  const boundary = match?.[1] ?? match?.[2] ?? "";
  // Limits the parts before parsing: there is one delimiter before each part and one at the end.
  const parts = decodeUtf8(bytes).split(`--${boundary}`, fieldLimit + 3);
  if (parts.length > fieldLimit + 2) throw tooMany();
  if (parts.some(hasTooLongHeaders)) {
    throw new Fault("too_large", `The headers of a part must not be longer than ${partHeaderLimit} characters.`);
  }
  try {
    // Uses the boundary of the check above: a parser could read another boundary from the same header.
    const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
    const form = await new Response(new Uint8Array(bytes), { headers }).formData();
    return [...form].filter((field): field is [string, string] => typeof field[1] === "string");
  } catch {
    throw new Fault("invalid", "The body must be well-formed multipart/form-data.");
  }
}
