import * as z from "zod";
import { omitUndefined } from "../../../platform/omit-undefined.ts";
import type { Revocation } from "../../model/security-key.ts";
import { revocationReasons } from "../../model/states.ts";

/** Version 2 read model of a revocation. */
export const revocationV2 = z.lazy(() =>
  z.object({
    reason: z.enum(revocationReasons).describe("Why it was asked for."),
    requested_at: z.iso.datetime().describe("When it was asked for."),
    revoked_at: z.iso.datetime().optional().describe("When the IdP confirmed the removal."),
    failed_attempts: z.int().min(0).describe("Attempts that failed."),
    error_message: z.string().optional().describe("Why the last attempt failed."),
  }),
);

/** Returns a revocation in its read model. */
export const readRevocation = ({ state, reason, requestedAt, revokedAt, retry }: Revocation) =>
  omitUndefined({
    reason,
    requested_at: requestedAt,
    revoked_at: revokedAt,
    failed_attempts: retry.attempts,
    error_message: state === "revoked" ? undefined : retry.lastError,
  });
