import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose";
import * as z from "zod";
import type { Caller } from "../../caller.ts";
import { Fault } from "../../fault.ts";
import { type Now, seconds } from "../../time.ts";
import { badToken } from "./bad-token.ts";

/** Tokens of the customer's tenant (decision G3). */
export interface TenantTokens {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly jwksUrl: string;
}

const algorithms = ["RS256", "PS256", "ES256"];

/** The claims that name a caller and its rights. Names end up in log lines and rows, so their length is limited. */
const name = z.string().min(1).max(256);
const claimsSchema = z.object({
  azp: name.optional(),
  appid: name.optional(),
  oid: name.optional(),
  sub: name.optional(),
});

/**
 * Returns the check of a tenant's JWT: signature, algorithm, issuer, audience, expiry, then that it is an access token with `role`.
 * Throws Fault `unauthenticated`, `forbidden` without the role, `unavailable` when the issuer's keys cannot be read.
 */
export function tenantTokenCheck(
  { issuers, audiences, jwksUrl }: TenantTokens,
  { role, fetch, now }: { readonly role: string; readonly fetch: typeof globalThis.fetch; readonly now: Now },
): (token: string) => Promise<Caller> {
  const keys = createRemoteJWKSet(new URL(jwksUrl), { [customFetch]: fetch, timeoutDuration: seconds(5) });
  return async token => {
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      issuer: [...issuers],
      audience: [...audiences],
      requiredClaims: ["exp"],
      currentDate: new Date(now()),
    }).catch((error: unknown) => {
      throw refusalOf(error);
    });
    const caller = callerOf(payload);
    if (caller === undefined) throw badToken("no_application");
    // Only ID tokens carry a nonce. An ID token tells its own application who signed in and entitles to no call.
    if (payload.nonce !== undefined) throw badToken("id_token", { caller });
    if (!rightsOf(payload).includes(role)) {
      throw new Fault("forbidden", `The token does not carry ${role}.`, { reason: "no_role", caller });
    }
    return caller;
  };
}

/** The caller that a payload names. Undefined where it names no application: an ID token has neither `azp` nor `appid`. */
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

/** Errors of `jose` about the issuer's keys or the way to them, not about the token. */
const aboutKeys = ["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"];

function refusalOf(error: unknown): Fault {
  if (!(error instanceof errors.JOSEError) || aboutKeys.includes(error.code)) {
    return new Fault("unavailable", "The token can not be checked now.", { retryAfter: 5, cause: error });
  }
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    // `jose` checks the signature, then the issuer, then the other claims: only then the payload is the tenant's word.
    const ofTenant = error.claim !== "iss" && error.reason === "check_failed";
    const caller = ofTenant ? callerOf(error.payload) : undefined;
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
