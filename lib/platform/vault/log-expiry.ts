import { measure } from "../telemetry.ts";
import { between, days, instant, type Now } from "../time.ts";
import type { Secrets } from "./secrets.ts";

/**
 * Measures the days until expiry at each read of a secret, because Key Vault also returns expired secrets. These have 0
 * days left: OpenTelemetry drops a negative value, and the alert would end on the day on which the secret expires.
 */
export const logExpiry = (secrets: Secrets, now: Now): Secrets => ({
  ...secrets,
  async get(name) {
    const secret = await secrets.get(name);
    if (secret?.expiresOn !== undefined) {
      const left = between(now(), instant(secret.expiresOn.getTime())) / days(1);
      measure("secret.days_left", Math.max(0, left), { secret: name });
    }
    return secret;
  },
});
