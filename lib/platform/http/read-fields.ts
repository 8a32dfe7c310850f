import { Fault, invalidRequest } from "../fault.ts";
import type { Call } from "./call.ts";
import { shownName } from "./problems.ts";
import { decodeUtf8, fieldLimit, mediaType, parseJson, readBytes } from "./read-body.ts";

type Fields = Record<string, unknown>;

/**
 * Returns the fields of a call: the query and, except for a GET, the body (form, multipart or JSON object), which has
 * precedence.
 * Throws Fault `invalid` for a field that occurs twice in query or form, and `too_large` for too many fields (G4).
 */
export async function readFields(call: Call, limitBytes: number): Promise<Fields> {
  const query = readQuery(call.url);
  return call.method === "GET" ? query : Object.assign(query, await bodyFields(call, limitBytes));
}

const tooMany = (): Fault => new Fault("too_large", `The body must not have more than ${fieldLimit} fields.`);

async function bodyFields(call: Call, limitBytes: number): Promise<Fields> {
  const bytes = readBytes(call, limitBytes);
  if (bytes.byteLength === 0) return {};
  const type = mediaType(call);
  if (type === "application/x-www-form-urlencoded") {
    const text = decodeUtf8(bytes);
    // curl sends so what has no content type.
    if (/^\s*[{[]/.test(text)) throw new Fault("unsupported_media", "Send JSON as application/json.");
    // The parser would replace plus signs itself, but for a form of plus signs it takes a hundred times as long.
    return readPairs(text.replaceAll("+", " "), tooMany);
  }
  if (type === "multipart/form-data") return toUniqueFields(await multipart(call, bytes));
  if (type !== "application/json") {
    throw new Fault("unsupported_media", "Send parameters as a form, as multipart/form-data or as a JSON object.");
  }
  const value = parseJson(decodeUtf8(bytes));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault("invalid", "The body must be a JSON object.");
  }
  if (Object.keys(value).length > fieldLimit) throw tooMany();
  return Object.assign(Object.create(null), value);
}

/** Maximum length of the headers of a part. The parser takes up to 40 ms for 64 KiB of them. */
const partHeaderLimit = 2048;

const hasTooLongHeaders = (part: string): boolean =>
  part.length > partHeaderLimit && !part.slice(0, partHeaderLimit).includes("\r\n\r\n");

/** Returns the fields of a multipart form. A file stays one: no schema takes it, so a known field is refused by name. */
async function multipart(call: Call, bytes: Uint8Array): Promise<Iterable<readonly [string, unknown]>> {
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
    return await new Response(new Uint8Array(bytes), { headers }).formData();
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
  try {
    // Only escapes of non-ASCII bytes can be ill-formed UTF-8. All runs of them are checked in one call, separated by
    // blanks.
    decodeURIComponent((text.match(/(?:%[89a-f][0-9a-f])+/gi) ?? []).join("%20"));
  } catch {
    throw new Fault("invalid", "The request must be well-formed UTF-8.");
  }
  return toUniqueFields(new URLSearchParams(text));
}

/** Returns fields by name. Throws Fault `invalid` for a repeated name, which would otherwise lose a value. */
function toUniqueFields<T>(pairs: Iterable<readonly [string, T]>): Record<string, T> {
  const fields: Record<string, T> = Object.create(null);
  const repeated = new Set<string>();
  for (const [name, value] of pairs) {
    if (name in fields) repeated.add(name);
    fields[name] = value;
  }
  if (repeated.size > 0)
    throw invalidRequest([...repeated].map(name => ({ path: shownName(name), reason: "must be given once" })));
  return fields;
}
