import {
  createPasswordHasher,
  type HashCost,
  type PasswordHasher,
  type PasswordHashOptions,
} from "../../../lib/auth/passwords/password-hash.ts";
import { hours } from "../../../lib/platform/time.ts";

/** A hash that costs next to nothing, where a test is not about its cost: at the real cost one takes 20 ms of CPU. */
export const cheapCost: HashCost = { memoryCost: 8, timeCost: 1, parallelism: 1 };

/** A hasher at that cost. By default it has one pepper, and a queue that refuses no caller. */
export function cheapHasher(
  { random, now }: Pick<PasswordHashOptions, "random" | "now">,
  options: Partial<PasswordHashOptions> = {},
): PasswordHasher {
  const only = { version: "1", key: new Uint8Array(32) };
  const pepper = { current: async () => only, candidates: async () => [only.key] };
  const defaults = { pepper, maxConcurrent: 4, maxSlots: 1000, maxWaitMs: hours(1), cost: cheapCost };
  return createPasswordHasher({ random, now, ...defaults, ...options });
}
