import { Fault, invalidRequest } from "../../fault.ts";
import { fieldLimit } from "./read-body.ts";

/** Returns the query parameters of a URL. Throws Fault `invalid` for too many, repeated or ill-formed parameters. */
export const readQuery = ({ search }: URL): Record<string, string> =>
  readPairs(search.slice(1), () => new Fault("invalid", `The query must not have more than ${fieldLimit} parameters.`));

/**
 * Returns the fields of a query or form. Throws Fault `invalid` for a repeated name and for escapes that are not UTF-8, and the
 * result of `tooMany` before it decodes any pair.
 */
export function readPairs(text: string, tooMany: () => Fault): Record<string, string> {
  if (text === "") return Object.create(null);
  if (text.split("&", fieldLimit + 1).length > fieldLimit) throw tooMany();
  // Only escapes of non-ASCII bytes can be ill-formed UTF-8. All runs of them are checked in one call, separated by blanks.
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
 * Returns fields by name. Throws Fault `invalid` for a repeated name, which would otherwise lose a value, and the result of
 * `tooMany` if there are more fields than `fieldLimit`.
 */
export function toUniqueFields(
  pairs: Iterable<readonly [string, string]>,
  tooMany: () => Fault,
): Record<string, string> {
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
