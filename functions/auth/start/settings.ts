import { type AuthSettings, authSettings } from "../../../lib/auth/settings.ts";
import { deploymentSettings } from "../../../lib/deployment-settings.ts";
import { BadSettings, combineReads, type Environment, readSettings, validSettings } from "../../../lib/settings.ts";

/** What the authentication server is told. Throws BadSettings with every problem. */
export function readAuthSettings(environment: Environment): AuthSettings {
  const [settings] = combineReads(
    () => readSettings(authSettings, environment),
    () => needProxies(environment),
  );
  return settings;
}

/** A limit of callers' addresses needs a proxy that tells them. */
function needProxies(environment: Environment): void {
  const { TRUSTED_PROXIES } = validSettings(deploymentSettings, environment);
  const { AUTH_ADDRESS_LIMIT = 0 } = validSettings(authSettings, environment);
  if (TRUSTED_PROXIES !== 0 || AUTH_ADDRESS_LIMIT === 0) return;
  const reason = "must be at least 1 with AUTH_ADDRESS_LIMIT: callers' addresses are told by proxies";
  throw new BadSettings([{ path: "TRUSTED_PROXIES", reason }]);
}
