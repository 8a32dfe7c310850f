import * as z from "zod";
import { AIC_FORMS } from "./callbacks.ts";

export const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
  form: z.enum(AIC_FORMS),
  maxDevices: z.int().nonnegative(),
  /** Duration of a journey, which its administrator sets. */
  journeySeconds: z.int().positive(),
});

export type AicSettings = z.output<typeof settings>;
