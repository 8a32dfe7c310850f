import * as z from "zod";

/** The header of every create (decision C6). A comma is none of its characters: that is how a repeated header arrives. */
export const idempotencyKey = z.object({
  "Idempotency-Key": z
    .string()
    .regex(/^[\x21-\x2b\x2d-\x7e]{1,255}$/, {
      error: "must be one value of 1 to 255 visible ASCII characters without commas",
    })
    .optional()
    .describe(
      "Makes the call safe to repeat: within 7 days the same key of the same caller creates one request. A new random value a request.",
    ),
});
