import type { FaultKind } from "../fault.ts";

/** The HTTP status of each kind of Fault. Only the connector has others, for what peers refused (C1). */
export const faultStatus: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  length_required: 411,
  too_large: 413,
  unsupported_media: 415,
  throttled: 429,
  internal: 500,
  delivery_refused: 502,
  idp_refused: 502,
  unavailable: 503,
};
