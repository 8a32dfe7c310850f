import * as z from "zod";
import type { Attributes, OtpKey } from "../../lib/auth/store.ts";

export const userSummary = z.object({ id: z.int(), name: z.string() });
export const userView = z.object({
  attributes: z.record(z.string(), z.string()),
  otpkeys: z.array(z.string()),
  id: z.int(),
  name: z.string(),
});
export const otpkeyView = z.object({
  attributes: z.record(z.string(), z.string()),
  prefix: z.string(),
  enabled: z.boolean(),
  id: z.int(),
  stopped: z
    .literal(true)
    .optional()
    .describe("Present if wrong OTPs stopped the otpkey. Enabling it again starts it."),
});
export const otpkeySummary = z.object({ id: z.int(), prefix: z.string(), enabled: z.boolean() });

/** Returns the view of an OTP key (specification section 4, A10). */
export const toOtpkeyView = (
  { prefix, enabled, id, stopped }: OtpKey,
  attributes: Attributes,
): z.output<typeof otpkeyView> => ({
  attributes,
  prefix,
  enabled,
  id,
  ...(stopped && { stopped: true as const }),
});
