import { type AuthSettings, authSettings } from "../../../lib/auth/settings.ts";
import { deploymentSettings } from "../../../lib/platform/settings/deployment-settings.ts";
import {
  BadSettings,
  combineReads,
  type Environment,
  readSettings,
  validSettings,
} from "../../../lib/platform/settings/read-settings.ts";

/** Reads the settings of the authentication server. Throws `BadSettings` with every problem. */
export function readAuthSettings(environment: Environment): AuthSettings {
  const [settings] = combineReads(
    () => readSettings(authSettings, environment),
    () => requireProxies(environment),
  );
  return settings;
}

/** Throws `BadSettings` if caller addresses are limited but no trusted proxy reports them. */
function requireProxies(environment: Environment): void {
  const { TRUSTED_PROXIES } = validSettings(deploymentSettings, environment);
  const { AUTH_ADDRESS_LIMIT = 0 } = validSettings(authSettings, environment);
  if (TRUSTED_PROXIES !== 0 || AUTH_ADDRESS_LIMIT === 0) return;
  const reason = "must be at least 1 with AUTH_ADDRESS_LIMIT: only a trusted proxy reports the caller's address";
  throw new BadSettings([{ path: "TRUSTED_PROXIES", reason }]);
}
