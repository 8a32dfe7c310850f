import * as z from "zod";
import type { Fields } from "./log.ts";

/** The roles of callers of each API. The last one includes all others, and each includes `read`. */
export const apiRoles = {
  core: ["read", "support", "import", "admin"],
  connector: ["read", "support", "call"],
} as const;
export type RoleApi = keyof typeof apiRoles;
export type CallerRole = (typeof apiRoles)[RoleApi][number];
export const callerRoles = ["read", "support", "import", "admin", "call"] as const satisfies readonly CallerRole[];

/** Returns the app role of the tenant that stands for a role, such as `Core.Support`. */
export const appRoleOf = (api: RoleApi, role: CallerRole): string =>
  [api, role].map(word => word.charAt(0).toUpperCase() + word.slice(1)).join(".");

/**
 * The authenticated caller of Core or the connector: an application and, if the token has one, the subject that it acts
 * for (G3).
 */
export interface Caller {
  /** `tenant`: a JWT of the customer's tenant. `api_token`: a static API token. */
  readonly kind: "tenant" | "api_token";
  /** `azp` or `appid` of the JWT; the id of the static API token. */
  readonly application: string;
  /** `oid`, else `sub`, of the JWT. A static API token has no subject. */
  readonly subject?: string;
  /** The roles of the token. Absent: a static API token without a role, which may do everything. */
  readonly roles?: readonly CallerRole[];
}

/** Returns whether a caller has a role, or one that includes it. */
export const hasRole = ({ roles = ["admin"] }: Caller, role: CallerRole): boolean =>
  roles.some(own => own === role || own === "admin" || own === "call" || role === "read");

/** Returns the log fields that identify a caller. */
export const callerFields = ({ kind, application, subject }: Caller): Fields => ({
  callerKind: kind,
  application,
  ...(subject !== undefined && { subject }),
});

/** What is stored of a static API token (G3). The token itself is not stored. */
export const apiToken = z.lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    sha256: z.string(),
    createdAt: z.string(),
    /** The token is accepted before this time. Absent: until it is revoked. */
    expiresAt: z.string().exactOptional(),
    /** Absent: the token may do everything. */
    role: z.enum(callerRoles).exactOptional(),
    /** The last day, in UTC, on which the token was accepted: `2026-01-31`. Absent: it was never used. */
    lastUsedOn: z.string().exactOptional(),
  }),
);
export type ApiToken = z.output<typeof apiToken>;
