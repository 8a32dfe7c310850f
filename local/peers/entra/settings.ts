import * as z from "zod";
import { policySettings } from "./policy.ts";

export const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  /** The id with which Graph lists a key: its credential id, or a GUID as in the documentation of version 1.0. */
  methodIds: z.enum(["credential", "guid"]),
  /** The longest challenge that the tenant grants in the beta, in minutes. */
  grantedMinutes: z.int().min(5).max(43_200),
  /** Whether the application may read users (User.Read.All). */
  readsUsers: z.boolean(),
  /** Whether the application may read policies (Policy.Read.AuthenticationMethod). */
  readsPolicies: z.boolean(),
  /** Members of the passkey policy that differ from an open one. */
  policy: policySettings,
});

export type EntraSettings = z.output<typeof settings>;

export const initial: EntraSettings = {
  expiresIn: 3600,
  methodIds: "credential",
  grantedMinutes: 43_200,
  readsUsers: true,
  readsPolicies: true,
  policy: {},
};
