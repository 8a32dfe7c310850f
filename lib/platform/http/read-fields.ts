import { Fault, invalidRequest } from "../fault.ts";
import type { Call } from "./call.ts";
import { decodeUtf8, endOfString, fieldLimit, mediaType, parseJson, readBytes } from "./read-body.ts";

type Fields = Record<string, unknown>;

/**
 * Returns the fields of a call: the query and, for a POST, the body (form, multipart or JSON object), which has
 * precedence.
 * Throws Fault `invalid` for a field that occurs twice in query or body, and `too_large` for too many fields (G4).
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
 * Replaces every plus sign by the blank that it stands for in a form. The parser would do the same, but for a form of
 * plus signs it takes a hundred times as long.
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

/** Returns the query parameters of a URL. Throws Fault `invalid` for too many, repeated or ill-formed parameters. */
export const readQuery = ({ search }: URL): Record<string, string> =>
  readPairs(search.slice(1), () => new Fault("invalid", `The query must not have more than ${fieldLimit} parameters.`));

/**
 * Returns the fields of a query or form. Throws Fault `invalid` for a repeated name and for escapes that are not UTF-8,
 * and the result of `tooMany` before it decodes any pair.
 */
function readPairs(text: string, tooMany: () => Fault): Record<string, string> {
  if (text === "") return Object.create(null);
  if (text.split("&", fieldLimit + 1).length > fieldLimit) throw tooMany();
  // Only escapes of non-ASCII bytes can be ill-formed UTF-8. All runs of them are checked in one call, separated by
  // blanks.
  const runs = text.match(/(?:%[89a-f][0-9a-f])+/gi) ?? [];
  if (!isUtf8(runs.join("%20"))) throw new Fault("invalid", "The request must be well-formed UTF-8.");
  return toUniqueFields(new URLSearchParams(text), tooMany);
}

function isUtf8(escapes: string): boolean {
  try {
    decodeURIComponent(escapes);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns fields by name. Throws Fault `invalid` for a repeated name, which would otherwise lose a value, and the
 * result of `tooMany` if there are more fields than `fieldLimit`.
 */
function toUniqueFields(pairs: Iterable<readonly [string, string]>, tooMany: () => Fault): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  let count = 0;
  for (const [name, value] of pairs) {
    count += 1;
    if (count > fieldLimit) throw tooMany();
    if (name in fields) {
      throw invalidRequest([{ path: name, reason: "must be given once" }]);
    }
    fields[name] = value;
  }
  return fields;
}
