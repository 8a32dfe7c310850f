import * as z from "zod";

/** How binary values of creation options are written. */
export const PING_BYTES = ["signed", "base64"] as const;

export const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  /** Maximum number of devices of a user, including pending ones. */
  maxDevices: z.int().nonnegative(),
  bytes: z.enum(PING_BYTES),
  /** Whether a new device needs a policy, as the documentation says. */
  policyRequired: z.boolean(),
  /** Whether the application may read the MFA settings. */
  readsSettings: z.boolean(),
});

export type PingOneSettings = z.output<typeof settings>;

export const initial: PingOneSettings = {
  expiresIn: 3600,
  maxDevices: 5,
  bytes: "signed",
  policyRequired: false,
  readsSettings: true,
};
