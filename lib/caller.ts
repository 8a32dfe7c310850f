import type { Fields } from "./log.ts";

/** Who calls Core or the connector: an application and, where the token names one, the subject on whose behalf it calls (decision G3). */
export interface Caller {
  /** `tenant`: a JWT of the customer's tenant. `api_token`: a static API token. */
  readonly kind: "tenant" | "api_token";
  /** `azp` or `appid` of the JWT; the id of the static API token. */
  readonly application: string;
  /** `oid`, else `sub`, of the JWT. A static API token has no subject. */
  readonly subject?: string;
}

/** Returns the fields that name a caller in every log event of a call. */
export const callerFields = ({ kind, application, subject }: Caller): Fields => ({
  callerKind: kind,
  application,
  ...(subject !== undefined && { subject }),
});
