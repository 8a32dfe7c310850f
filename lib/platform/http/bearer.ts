import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import * as z from "zod";
import { singleFlight } from "../async.ts";
import { apiRoles, appRoleOf, type Caller, type RoleApi } from "../caller.ts";
import { Fault, type FaultDetails } from "../fault.ts";
import type { Log } from "../log.ts";
import { days, type Instant, isRecent, minutes, type Now, seconds } from "../time.ts";
import type { Call } from "./call.ts";

/** Returns the Fault for an invalid token. The reason is only logged, so that the response does not reveal it. */
export const badToken = (reason: string, details: FaultDetails = {}): Fault =>
  new Fault("unauthenticated", "The bearer token is not valid.", { ...details, reason });

/** How to verify tokens of the customer's tenant (G3). */
interface TenantTokens {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly jwksUrl: string;
}

interface BearerOptions {
  readonly api: RoleApi;
  /** If undefined, no tenant token is accepted. */
  readonly tenant?: TenantTokens | undefined;
  /** If undefined, no static token is accepted. */
  readonly tokens?: { check(token: string): Promise<Caller> } | undefined;
  readonly fetch: typeof fetch;
  readonly now: Now;
  readonly log: Log;
}

/**
 * Longer headers are refused. Tokens of Entra are shorter: Entra omits groups from a token that would become too large.
 */
const maxHeaderLength = 16_384;

/**
 * Returns a function that checks `Authorization: Bearer` and returns the caller. The function throws Fault
 * `unauthenticated` without a valid token, `forbidden` for a token without a role or of another API, and `unavailable`
 * if the issuer's keys or the static tokens cannot be read. If neither kind of token is configured, it refuses every
 * call.
 */
export function createBearerCheck(options: BearerOptions): (headers: Call["headers"]) => Promise<Caller> {
  const { tenant, tokens } = options;
  const checkTenantToken = tenant && createTenantTokenCheck(tenant, options);
  return async headers => {
    const header = headers.get("authorization") ?? "";
    if (header.length > maxHeaderLength) throw badToken("too_long");
    const token = /^Bearer +([^\s]+)$/i.exec(header)?.[1];
    if (token === undefined) throw new Fault("unauthenticated", "A bearer token is required.", { reason: "no_token" });
    const check = /^(?:core|connector)_/.test(token) ? tokens?.check : checkTenantToken;
    if (check === undefined) throw badToken("not_accepted");
    return check(token);
  };
}

const algorithms = ["RS256", "PS256", "ES256"];

/** The claims that identify a caller. Their length is limited, because they are written to log lines and rows. */
const claimsSchema = z.lazy(() => {
  const name = z.string().min(1).max(256).optional();
  return z.object({ azp: name, appid: name, oid: name, sub: name });
});

/** Returns the check of a tenant's JWT: signature, algorithm, issuer, audience, expiry, and the roles for the API. */
function createTenantTokenCheck(
  { issuers, audiences, jwksUrl }: TenantTokens,
  options: BearerOptions,
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
    return new Fault("unavailable", "The token cannot be checked at the moment.", {
      retryAfterSeconds: 5,
      cause: error,
    });
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

/** Age at which the keys are read again. */
const maxAgeMs = minutes(10);
/** Maximum age of keys that are used while the issuer cannot be read. */
const maxStaleMs = days(1);
/**
 * Minimum time between two reads for unknown keys, which any caller can name, and after a failed read while older keys
 * are used.
 */
const pauseMs = seconds(30);
const timeoutMs = seconds(5);

/**
 * Returns a function that returns the issuer's key of a token, for `jwtVerify` (G3). While the keys cannot be read, the
 * last ones are used for a day, and a read is tried every 30 seconds. The function rejects with the error of the failed
 * read if there are no keys to use, or if they lack the key of the token: it may be new.
 */
function issuerKeys(url: URL, { fetch, now, log }: BearerOptions): JWTVerifyGetKey {
  // Without the limits of `jose`, by which every call in an outage would wait for a read that fails, and none would use
  // older keys.
  const limits = { cacheMaxAge: Number.POSITIVE_INFINITY, cooldownDuration: Number.POSITIVE_INFINITY };
  const keys = createRemoteJWKSet(url, { [customFetch]: fetch, timeoutDuration: timeoutMs, ...limits });
  let readAt: Instant | undefined;
  let failed: { readonly at: Instant; readonly error: unknown } | undefined;

  const read = singleFlight(async () => {
    const at = now();
    try {
      await keys.reload();
      [readAt, failed] = [at, undefined];
    } catch (error) {
      failed = { at, error };
      if (readAt !== undefined) log.warn("issuer_keys_stale", { readAt, error });
    }
  });

  return async (header, token) => {
    const isUsable = () => isRecent(readAt, maxStaleMs, now());
    const isReadDue = !isRecent(readAt, maxAgeMs, now()) && !isRecent(failed?.at, pauseMs, now());
    if (isReadDue || !isUsable()) await read();
    if (failed !== undefined && !isUsable()) throw failed.error;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!isRecent(failed?.at ?? readAt, pauseMs, now())) await read();
      // The issuer may have published the key since the last successful read.
      if (failed !== undefined) throw failed.error;
      return keys(header, token);
    }
  };
}
