import type { Caller, RoleApi } from "../lib/platform/caller.ts";
import type { TokenHashes } from "../lib/platform/http/authenticate/api-tokens.ts";
import { createBearerCheck } from "../lib/platform/http/authenticate/bearer.ts";
import type { Call } from "../lib/platform/http/call.ts";
import type { DeploymentSettings } from "../lib/platform/settings/deployment-settings.ts";
import { apiTokenHashes } from "../lib/platform/vault/api-tokens.ts";
import type { Deployment } from "./deployment.ts";

/** Returns the storage of static token hashes of an API. */
export const tokenHashesOf = (
  { secrets, caching, keys, now, log }: Deployment,
  api: "core" | "connector",
): TokenHashes => apiTokenHashes(secrets, api, { ...caching, now, log }, keys);

/** Returns the bearer token check of an API. */
export function callerCheck(
  { settings, fetch, now, log }: Deployment,
  { api, hashes }: { api: RoleApi; hashes: TokenHashes },
): (headers: Call["headers"]) => Promise<Caller> {
  const tenant = tenantTokens(settings);
  return createBearerCheck({
    api,
    ...(tenant && { tenant }),
    ...(settings.CALLER_STATIC_TOKENS && { tokens: hashes }),
    fetch,
    now,
    log,
  });
}

/** Returns how to verify tenant tokens. Accepts the v1.0 and the v2.0 issuer of an Entra tenant. */
function tenantTokens(settings: DeploymentSettings) {
  const { CLOUD_TENANT_ID: tenant, CALLER_AUDIENCES: audiences, CALLER_ISSUERS, CALLER_JWKS_ENDPOINT } = settings;
  if (audiences.length === 0) return undefined;
  const ofTenant = [`https://login.microsoftonline.com/${tenant}/v2.0`, `https://sts.windows.net/${tenant}/`];
  const issuers = CALLER_ISSUERS.length > 0 || tenant === undefined ? CALLER_ISSUERS : ofTenant;
  const jwksUrl = CALLER_JWKS_ENDPOINT ?? `https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys`;
  return { issuers, audiences, jwksUrl };
}
