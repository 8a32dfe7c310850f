import { errors, type JWTPayload, jwtVerify } from "jose";
import * as z from "zod";
import { apiRoles, appRoleOf, type Caller, type RoleApi } from "../../caller.ts";
import { Fault, type FaultDetails } from "../../fault.ts";
import type { Log } from "../../log.ts";
import type { Now } from "../../time.ts";
import { issuerKeys } from "./issuer-keys.ts";

/** Returns the Fault for an invalid token. The reason is only logged, so that the response does not reveal it. */
export const badToken = (reason: string, details: FaultDetails = {}): Fault =>
  new Fault("unauthenticated", "The bearer token is not valid.", { ...details, reason });

/** How to verify tokens of the customer's tenant (G3). */
interface TenantTokens {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly jwksUrl: string;
}

const algorithms = ["RS256", "PS256", "ES256"];

/** The claims that identify a caller. Their length is limited, because they are written to log lines and rows. */
const claimsSchema = z.lazy(() => {
  const name = z.string().min(1).max(256).optional();
  return z.object({ azp: name, appid: name, oid: name, sub: name });
});

/**
 * Returns a function that checks a tenant's JWT (signature, algorithm, issuer, audience, expiry) and returns the caller
 * with the roles for the API. The function throws Fault `unauthenticated`, `forbidden` without any of the roles, and
 * `unavailable` if the issuer's keys cannot be read.
 */
export function createTenantTokenCheck(
  { issuers, audiences, jwksUrl }: TenantTokens,
  options: { readonly api: RoleApi; readonly fetch: typeof fetch; readonly now: Now; readonly log: Log },
): (token: string) => Promise<Caller> {
  const { api, now } = options;
  const keys = issuerKeys(new URL(jwksUrl), options);
  return async token => {
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      issuer: [...issuers],
      audience: [...audiences],
      requiredClaims: ["exp"],
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw toFault(error);
    });
    const caller = callerOf(payload);
    if (caller === undefined) throw badToken("no_application");
    // Only ID tokens have a nonce. An ID token informs its own application about a sign-in and grants no access to an
    // API.
    if (payload.nonce !== undefined) throw badToken("id_token", { caller });
    const rights = rightsOf(payload);
    const roles = apiRoles[api].filter(role => rights.includes(appRoleOf(api, role)));
    if (roles.length === 0) {
      const names = apiRoles[api].map(role => appRoleOf(api, role)).join(", ");
      throw new Fault("forbidden", `The token contains none of the roles ${names}.`, { reason: "no_role", caller });
    }
    return { ...caller, roles };
  };
}

/**
 * Returns the caller of a token. Undefined if the token has no application: an ID token has neither `azp` nor `appid`.
 */
function callerOf(payload: JWTPayload): Caller | undefined {
  const { success, data } = claimsSchema.safeParse(payload);
  const application = data?.azp ?? data?.appid;
  if (!success || application === undefined) return undefined;
  const subject = data.oid ?? data.sub;
  return { kind: "tenant", application, ...(subject !== undefined && { subject }) };
}

const rightsOf = ({ roles, scp }: JWTPayload): readonly unknown[] => [
  ...(Array.isArray(roles) ? roles : []),
  ...(typeof scp === "string" ? scp.split(" ") : []),
];

/** Error codes of `jose` for failures to read the issuer's keys, as opposed to an invalid token. */
const issuerKeyErrors = ["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"];

function toFault(error: unknown): Fault {
  if (!(error instanceof errors.JOSEError) || issuerKeyErrors.includes(error.code)) {
    return new Fault("unavailable", "The token cannot be checked at the moment.", { retryAfter: 5, cause: error });
  }
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    // `jose` checks the signature, then the issuer, then other claims. After a later failure, the payload is known to
    // be genuine.
    const isGenuine = error.claim !== "iss" && error.reason === "check_failed";
    const caller = isGenuine ? callerOf(error.payload) : undefined;
    const reason = claimReasons[error.claim] ?? "bad_claim";
    return badToken(reason, { cause: error, ...(caller && { caller }) });
  }
  return badToken(errorReasons[error.code] ?? "malformed", { cause: error });
}

const claimReasons: Readonly<Record<string, string>> = {
  iss: "wrong_issuer",
  aud: "wrong_audience",
  exp: "expired",
  nbf: "not_yet_valid",
};

const errorReasons: Readonly<Record<string, string>> = {
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "bad_signature",
  ERR_JWKS_NO_MATCHING_KEY: "unknown_key",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "unknown_key",
  ERR_JOSE_ALG_NOT_ALLOWED: "wrong_algorithm",
  ERR_JOSE_NOT_SUPPORTED: "unsupported",
};
