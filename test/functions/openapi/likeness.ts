/** Fields whose value differs from one system to the next although its type does not. */
const varying =
  /^(id|user_id|shipment_id|credential_request_id|.*_time|.*_at|retryable_until|token|session|backup|version|rows|resealed|blobs|requests|open|users|otpkeys|erased|processed|activated|removed|finding|peer|check)$/;

/** Returns a value with everything replaced that differs between two runs of one example, so that the rest can be compared. */
export function likeness(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map(each => likeness(each, varying.test(name) ? name : ""));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, likeness(inner, key)]));
  if (typeof value === "string" && /^https?:/.test(value)) return "<url>";
  return varying.test(name) ? `<${typeof value}>` : value;
}
