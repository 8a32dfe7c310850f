/** Fields whose value differs from one system to the next although its type does not. */
const varying =
  /^(id|at|user_id|shipment_id|serial_number|credential_request_id|time|.*_time|.*_at|token|session|code|valid_until|locked_until|number|requests|users|processed|activated|application|roles|IDP_CONFIGURATION_PATH)$/;

/** Fields that are written in the background, so that a response may lack them. */
const late: readonly string[] = ["last_used_on"];

/** Returns a value with everything replaced that differs between two runs of one example, so that the rest can be compared. */
export function likeness(value: unknown, name = ""): unknown {
  if (varying.test(name)) return `<${typeof value}>`;
  if (Array.isArray(value)) return unique(value.map(each => likeness(each)));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !late.includes(key))
        .map(([key, inner]) => [key, isTokenName(key, value) ? "<name>" : likeness(inner, key)]),
    );
  return typeof value === "string" && /^https?:/.test(value) ? "<url>" : value;
}

/** A list may have more entries in one run than in another, as long as they are alike. */
const unique = (list: readonly unknown[]): unknown[] =>
  [...new Set(list.map(each => JSON.stringify(each)))].map(text => JSON.parse(text));

const isTokenName = (key: string, of: object): boolean => key === "name" && "created_at" in of;
