import { measure } from "../../telemetry.ts";
import { between, days, instant, type Now } from "../../time.ts";
import type { Secrets } from "./secrets.ts";

/** Secrets that tell, at each read of a current version, how long it is valid yet. The vault goes on giving an expired one. */
export const logExpiry = (secrets: Secrets, now: Now): Secrets => ({
  ...secrets,
  async get(name) {
    const secret = await secrets.get(name);
    if (secret?.expiresOn !== undefined) {
      const left = between(now(), instant(secret.expiresOn.getTime())) / days(1);
      measure("secret.days_left", left, { secret: name });
    }
    return secret;
  },
});
