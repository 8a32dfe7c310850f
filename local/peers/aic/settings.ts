import * as z from "zod";
import { AIC_FORMS } from "./callbacks.ts";

export const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  form: z.enum(AIC_FORMS),
  /** What AM names a user by: the id, as in Advanced Identity Cloud, or the user name, as other deployments of AM do. */
  names: z.enum(["id", "name"]),
  maxDevices: z.int().nonnegative(),
  /** Duration of a journey, which its administrator sets. */
  journeySeconds: z.int().positive(),
});

export type AicSettings = z.output<typeof settings>;
