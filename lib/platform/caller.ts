import type { Fields } from "./log.ts";

/** The roles of static API tokens of Core. Each role includes the ones before it. */
export const callerRoles = ["read", "import", "admin"] as const;
export type CallerRole = (typeof callerRoles)[number];

/** The authenticated caller of Core or the connector: an application and, if the token has one, the subject that it acts for (G3). */
export interface Caller {
  /** `tenant`: a JWT of the customer's tenant. `api_token`: a static API token. */
  readonly kind: "tenant" | "api_token";
  /** `azp` or `appid` of the JWT; the id of the static API token. */
  readonly application: string;
  /** `oid`, else `sub`, of the JWT. A static API token has no subject. */
  readonly subject?: string;
  /** The role of a static API token of Core. Absent: `admin`. */
  readonly role?: CallerRole;
}

/** Returns whether a caller has at least this role. */
export const hasRole = ({ role = "admin" }: Caller, minimum: CallerRole): boolean =>
  callerRoles.indexOf(role) >= callerRoles.indexOf(minimum);

/** Returns the log fields that identify a caller. */
export const callerFields = ({ kind, application, subject }: Caller): Fields => ({
  callerKind: kind,
  application,
  ...(subject !== undefined && { subject }),
});
