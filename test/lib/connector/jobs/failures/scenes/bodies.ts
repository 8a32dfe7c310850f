import { authenticator, mixedBody, onSiteBody } from "../../../../../support/connector/on-site.ts";
import { newUser, orderBody } from "../../../../../support/connector/test-connector.ts";
import type { Body } from "../../../api/bodies.ts";

type IdpId = "entra" | "pingone" | "aic";

/** One key with one credential at the IdP, shipped, on site, or one of each. */
export const shipped =
  (idp: IdpId = "entra") =>
  (): Body =>
    at(idp, orderBody([1]));
export const onSite =
  (idp: IdpId = "entra") =>
  (): Body =>
    at(idp, onSiteBody([authenticator(1)]));
export const mixed =
  (idp: IdpId = "entra") =>
  (): Body =>
    at(idp, mixedBody([1], [authenticator(1)]));

const keysOf = (body: Body): readonly Body[] => [
  ...(body.shipment?.shipment_items ?? []),
  ...(body.authenticators ?? []),
];

function at(idp_id: IdpId, body: Body): Body {
  for (const key of keysOf(body)) key.credentials = [{ idp_id, user_id: newUser() }];
  return body;
}
