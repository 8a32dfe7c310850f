import type { Fields } from "./log.ts";

/** The authenticated caller of Core or the connector: an application and, if the token has one, the subject that it acts for (G3). */
export interface Caller {
  /** `tenant`: a JWT of the customer's tenant. `api_token`: a static API token. */
  readonly kind: "tenant" | "api_token";
  /** `azp` or `appid` of the JWT; the id of the static API token. */
  readonly application: string;
  /** `oid`, else `sub`, of the JWT. A static API token has no subject. */
  readonly subject?: string;
}

/** Returns the log fields that identify a caller. */
export const callerFields = ({ kind, application, subject }: Caller): Fields => ({
  callerKind: kind,
  application,
  ...(subject !== undefined && { subject }),
});
