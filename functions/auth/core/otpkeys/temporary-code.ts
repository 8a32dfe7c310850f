import * as z from "zod";
import {
  issueTemporaryCode as issue,
  revokeTemporaryCode as revoke,
} from "../../../../lib/auth/otpkeys/issue-temporary-code.ts";
import { endKeySessions } from "../../../../lib/auth/otpkeys/manage-otpkeys.ts";
import { type Caller, hasRole } from "../../../../lib/platform/caller.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { keyParams, optionalFlag, optionalInput, requiredTime, wholeNumberInput } from "../../inputs.ts";

const maxUses = 100;

const issued = z
  .object({
    code: z.string().describe("What the user types in place of an OTP. It is shown only once."),
    uses: z.int().min(1).describe("How often the code is accepted."),
    valid_until: z.iso.datetime().describe("The code is accepted before this time."),
  })
  .meta({ id: "TemporaryCode" });

/** Disables a lost OTP key and issues a code in place of its OTPs (A21). */
export const issueTemporaryCode = endpoint({
  routes: ["POST /otpkeys/{prefix}/temporary-code"],
  access: "caller",
  role: "support",
  tag: "OTP keys",
  summary: "Disable a lost otpkey and issue a temporary code",
  description:
    "Disables the OTP key and returns a random code that its users type as the OTP, together with their username. " +
    "The code is accepted `uses` times before `valid_until`, and replaces an earlier one. It is shown only in this " +
    "response; the service keeps a hash. Until the OTP key is enabled again, its users need an OTP, also after the " +
    "code has expired. Enabling the OTP key revokes the code. Where `AUTH_ALLOW_EMPTY_PASSWORD` is true, the call needs " +
    "the role `admin`, because the code can be the only factor of a user.",
  params: keyParams,
  body: z.object({
    uses: optionalInput(
      wholeNumberInput({ minimum: 1, maximum: maxUses }).refine(value => value >= 1 && value <= maxUses, {
        error: `must be a whole number from 1 to ${maxUses}`,
      }),
    ).describe(`How often the code is accepted, 1 to ${maxUses}; default: 1.`),
    valid_until: requiredTime(
      "The code is accepted before this time, ISO 8601; at most 31 days away, and within the validity of the otpkey.",
    ),
    end_sessions: optionalFlag("Whether to end the sessions that were opened with the otpkey; default: false."),
  }),
  answers: { 201: { description: "The code.", schema: issued } },
  handle: async ({ params: { prefix }, body }, context: AuthContext, { caller }) => {
    if (context.rules.allowEmptyPassword) requireAdmin(caller);
    const { uses = 1, valid_until: validUntil, end_sessions } = body;
    const code = await issue(prefix, { uses, validUntil }, context);
    if (end_sessions) await endKeySessions(prefix, context);
    return { status: 201, body: { code, uses, valid_until: validUntil } };
  },
});

/**
 * Throws Fault `forbidden` for a role below `admin`: by the code alone the caller could sign in as a user without a
 * password.
 */
function requireAdmin(caller: Caller): void {
  if (hasRole(caller, "admin")) return;
  const message =
    "To issue a temporary code where users may sign in without a password, the API token needs the role admin.";
  throw new Fault("forbidden", message, { reason: "no_role" });
}

/** Revokes the temporary code of an OTP key. */
export const revokeTemporaryCode = endpoint({
  routes: ["DELETE /otpkeys/{prefix}/temporary-code", "POST /otpkeys/{prefix}/temporary-code/delete"],
  access: "caller",
  role: "support",
  tag: "OTP keys",
  summary: "Revoke the temporary code of an otpkey",
  description: "Revokes the code. The OTP key stays disabled, and its users still need an OTP.",
  params: keyParams,
  answers: { 204: { description: "Revoked." } },
  handle: async ({ params }, context: AuthContext) => {
    await revoke(params.prefix, context);
    return noContent;
  },
});
