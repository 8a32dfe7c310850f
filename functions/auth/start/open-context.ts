import { createKeyedHash } from "../../../lib/auth/keyed-hash.ts";
import { createOtpValidation } from "../../../lib/auth/otpkeys/kinds/remote.ts";
import { createPasswordHasher } from "../../../lib/auth/passwords/password-hash.ts";
import { authLimits, toAuthRules } from "../../../lib/auth/rules.ts";
import { createDeviceTokens } from "../../../lib/auth/sessions/device-token.ts";
import type { AuthSettings } from "../../../lib/auth/settings.ts";
import { authStore } from "../../../lib/auth/store.table.ts";
import { keyRing } from "../../../lib/platform/azure/cached-secrets.ts";
import type { Deployment } from "../../deployment.ts";
import { apiUrl } from "../../service.ts";
import type { AuthContext } from "../context.ts";

/** Connects the authentication server to storage, Key Vault and validation servers. Makes no call yet. */
export function openAuthContext(deployment: Deployment, settings: AuthSettings): AuthContext {
  const { log, now, random, sleep, fetch, cores, secrets, caching, sealer } = deployment;
  const { CORE_PATH, PUBLIC_BASE_URL } = deployment.settings;
  const validationKey = deployment.secretText("otp-validation-key");
  const pepper = keyRing(secrets, "password-pepper", caching);
  const keyedHash = createKeyedHash(pepper);
  const limits = { ...authLimits, ...deployment.limits };
  const maxConcurrent = Math.min(cores, limits.hashingThreads);
  return {
    ...authStore(deployment.tables, { now, random, sleep, log, keyedHash }),
    keyedHash,
    hasher: createPasswordHasher({
      pepper,
      importedUntil: settings.IMPORTED_HASHES_UNTIL,
      random,
      now,
      maxConcurrent,
      maxSlots: maxConcurrent * limits.hashSlotsPerThread,
      maxWaitMs: limits.hashWaitMs,
    }),
    sealer,
    deviceTokens: createDeviceTokens(pepper, "device tokens"),
    changeTokens: createDeviceTokens(pepper, "password change tokens"),
    validateOtp: createOtpValidation({
      urls: settings.OTP_VALIDATION_URLS,
      clientId: settings.OTP_VALIDATION_CLIENT_ID ?? "",
      key: async () => new Uint8Array(Buffer.from(await validationKey(), "base64")),
      fetch,
      now,
      random,
      sleep,
      timeLimitMs: limits.validationCallMs,
      totalTimeLimitMs: limits.validationTotalMs,
    }),
    rules: toAuthRules(settings, limits),
    log,
    now,
    random,
    sleep,
    ...(PUBLIC_BASE_URL !== undefined && { publicOrigin: new URL(PUBLIC_BASE_URL).origin }),
    coreUrl: apiUrl(deployment.settings, CORE_PATH),
  };
}
