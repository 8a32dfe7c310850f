import { type ApiTokens, apiTokens } from "../lib/platform/azure/api-tokens.ts";
import { callerFields, type RoleApi } from "../lib/platform/caller.ts";
import type { Identify } from "../lib/platform/http/api.ts";
import { createBearerCheck } from "../lib/platform/http/bearer.ts";
import { addLogFields } from "../lib/platform/log.ts";
import type { DeploymentSettings } from "../lib/platform/settings/deployment-settings.ts";
import type { Deployment } from "./deployment.ts";

/** Returns the static tokens of an API. */
export const apiTokensOf = ({ caching, now, log, ...deployment }: Deployment, api: RoleApi): ApiTokens =>
  apiTokens(api, { ...deployment, caching: { ...caching, now, log } });

/** Returns the authentication of an API without sessions, by bearer tokens. Open endpoints need none (G3). */
export function identifyCaller(
  { settings, fetch, now, log }: Deployment,
  { api, tokens }: { api: RoleApi; tokens: ApiTokens },
): Identify<never> {
  const check = createBearerCheck({
    api,
    tenant: tenantTokens(settings),
    tokens: settings.CALLER_STATIC_TOKENS ? tokens : undefined,
    fetch,
    now,
    log,
  });
  return async (access, call) => {
    if (access === "open") return {};
    const caller = await check(call.headers);
    addLogFields(callerFields(caller));
    return { caller };
  };
}

/** Returns how to verify tenant tokens. Accepts the v1.0 and the v2.0 issuer of an Entra tenant. */
function tenantTokens(settings: DeploymentSettings) {
  const { CLOUD_TENANT_ID: tenant, CALLER_AUDIENCES: audiences, CALLER_ISSUERS, CALLER_JWKS_ENDPOINT } = settings;
  if (audiences.length === 0) return undefined;
  const ofTenant = [`https://login.microsoftonline.com/${tenant}/v2.0`, `https://sts.windows.net/${tenant}/`];
  const issuers = CALLER_ISSUERS.length > 0 || tenant === undefined ? CALLER_ISSUERS : ofTenant;
  // Without CALLER_JWKS_ENDPOINT, the settings require CLOUD_TENANT_ID.
  const jwksUrl = CALLER_JWKS_ENDPOINT ?? `https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys`;
  return { issuers, audiences, jwksUrl };
}
