import { Fault } from "../../fault.ts";
import { decode, fieldLimit } from "./read-body.ts";

/** Returns the parameters of an address. Throws Fault `invalid` for too many of them and for what `readPairs` refuses. */
export const readQuery = ({ search }: URL): Record<string, string> =>
  readPairs(search.slice(1), () => new Fault("invalid", `The query must not have more than ${fieldLimit} parameters.`));

/**
 * Returns the pairs of a query or a form. Throws Fault `invalid` for a repeated name and for escapes that are no UTF-8, and
 * `tooMany` before any pair is decoded (decision G4).
 */
export function readPairs(text: string, tooMany: () => Fault): Record<string, string> {
  if (text.split("&", fieldLimit + 1).length > fieldLimit) throw tooMany();
  // Escapes of ASCII cannot be ill-formed. Runs of the others are joined by a blank and decoded in one piece.
  const runs = text.match(/(?:%[89a-f][0-9a-f])+/gi) ?? [];
  decode(Buffer.from(runs.join("%20").replaceAll("%", ""), "hex"));
  return once(new URLSearchParams(text), tooMany);
}

/**
 * Returns fields by name. Throws Fault `invalid` for a repeated one, because the host's own map would have merged it, and
 * `tooMany` as soon as there are too many (decision G4).
 */
export function once(pairs: Iterable<readonly [string, string]>, tooMany: () => Fault): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  let count = 0;
  for (const [name, value] of pairs) {
    count += 1;
    if (count > fieldLimit) throw tooMany();
    if (name in fields) {
      const problems = [{ path: name, reason: "must be given once" }];
      throw new Fault("invalid", "The request is not valid.", { problems });
    }
    fields[name] = value;
  }
  return fields;
}
