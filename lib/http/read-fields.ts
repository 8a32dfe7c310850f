import { Fault } from "../fault.ts";
import type { Call } from "./call.ts";
import { decode, mediaType, once, parseJson, readBytes, readPairs } from "./read-body.ts";

type Fields = Record<string, unknown>;

/**
 * The parameters of a call of the auth server: the query, and for a POST the body too (form, multipart or a JSON object), where
 * the body wins. A field that is given twice in one place is refused (decision G4).
 */
export async function readFields(call: Call): Promise<Fields> {
  const query = readPairs(call.url.search);
  return call.method === "POST" ? Object.assign(query, await bodyFields(call)) : query;
}

async function bodyFields(call: Call): Promise<Fields> {
  const bytes = await readBytes(call);
  const type = mediaType(call);
  if (type === "application/x-www-form-urlencoded") return readPairs(decode(bytes));
  if (type === "multipart/form-data") return once(await multipart(call, bytes));
  if (bytes.byteLength === 0) return {};
  if (type !== "application/json") {
    throw new Fault("unsupported_media", "Send parameters as a form, as multipart/form-data or as a JSON object.");
  }
  const value = parseJson(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault("invalid", "The body must be a JSON object.");
  }
  once(namesIn(decode(bytes)));
  return Object.assign(Object.create(null), value);
}

/** The names at the top of a JSON object, each as often as it stands there: the parser keeps the last of its values alone. */
function* namesIn(object: string): Iterable<readonly [string, string]> {
  let depth = 0;
  for (const [token, name] of object.matchAll(/[[{}\]]|("[^"\\]*(?:\\.[^"\\]*)*")(?:\s*:)?/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && name !== undefined && token !== name) yield [JSON.parse(name), ""];
  }
}

/** The fields of a multipart form. Files are none of our parameters. */
async function multipart(call: Call, bytes: Uint8Array): Promise<Iterable<readonly [string, string]>> {
  const headers = { "content-type": call.headers.get("content-type") ?? "" };
  try {
    decode(bytes);
    const form = await new Response(new Uint8Array(bytes), { headers }).formData();
    return [...form].filter((field): field is [string, string] => typeof field[1] === "string");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("invalid", "The body must be well-formed multipart/form-data.");
  }
}
