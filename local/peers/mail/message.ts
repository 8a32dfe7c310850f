import * as z from "zod";

const address = z.object({ address: z.email(), displayName: z.string().optional() });

/** The parts of the body of a send that the simulation reads. */
export const mailMessage = z.object({
  senderAddress: z.email(),
  recipients: z.object({ to: z.array(address).min(1).max(50) }),
  content: z
    .object({ subject: z.string().min(1), plainText: z.string().optional(), html: z.string().optional() })
    .refine(({ plainText, html }) => plainText !== undefined || html !== undefined, "has neither plainText nor html"),
});

/** A delivered mail. */
export interface Mail {
  readonly id: string;
  readonly operationId: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string | undefined;
  readonly html: string | undefined;
  /** ISO 8601. */
  readonly at: string;
}

/** How the next `times` sends end. */
export const mailOutcome = z.strictObject({
  status: z.enum(["Succeeded", "Failed", "Canceled"]).default("Succeeded"),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  /** How often a look-up returns `Running` before that. */
  runningPolls: z.int().nonnegative().default(1),
  times: z.int().positive().default(1),
});

/** An address that gets no emails any more. */
export const mailSuppression = z.strictObject({ address: z.email() });
