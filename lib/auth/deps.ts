import type { Sealer } from "../platform/crypto.ts";
import type { Log } from "../platform/log.ts";
import type { Now } from "../platform/time.ts";
import type { KeyedHash } from "./keyed-hash.ts";
import type { createOtpValidation } from "./otpkeys/kinds/remote.ts";
import type { PasswordHasher } from "./passwords/password-hash.ts";
import type { toAuthRules } from "./rules.ts";
import type { createDeviceTokens } from "./sessions/device-token.ts";
import type { AuthStore } from "./store.table.ts";

/** What the operations of the authentication server depend on. */
export interface AuthDeps extends AuthStore {
  readonly hasher: PasswordHasher;
  readonly sealer: Sealer;
  readonly validateOtp: ReturnType<typeof createOtpValidation>;
  readonly deviceTokens: ReturnType<typeof createDeviceTokens>;
  /** Tokens that set a new password (`changeRequired`), with the contents of device tokens. */
  readonly changeTokens: ReturnType<typeof createDeviceTokens>;
  readonly keyedHash: KeyedHash;
  readonly rules: ReturnType<typeof toAuthRules>;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number) => Promise<void>;
}
