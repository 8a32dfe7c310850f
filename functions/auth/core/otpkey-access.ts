import * as z from "zod";
import { adminRequired } from "../../../lib/auth/otpkeys/manage-otpkeys.ts";
import * as access from "../../../lib/auth/otpkeys/otpkey-access.ts";
import { hasRole } from "../../../lib/platform/caller.ts";
import { noContent } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import {
  ofKey,
  optionalFlag,
  optionalInput,
  requiredTime,
  toValidity,
  validityFields,
  wholeNumberInput,
} from "../inputs.ts";
import { noContentAfter } from "../views.ts";

export const enableOtpkey = endpoint({
  ...ofKey,
  routes: ["POST /otpkeys/{prefix}/enable"],
  role: "support",
  summary: "Enable an otpkey, also one that wrong OTPs stopped",
  description:
    "Enables an OTP key that was disabled. Also clears its count of wrong OTPs, the stop after too many of them, and " +
    "the throttle of attempts without a username under its prefix. A stopped OTP key that is not disabled has " +
    "`enabled: true` and `stopped: true`.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.setKeyEnabled(params.prefix, true, context)),
});

const endSessionsField = z.lazy(() =>
  optionalFlag("Whether to end the sessions that were opened with the otpkey; default: false."),
);

export const disableOtpkey = endpoint({
  ...ofKey,
  routes: ["POST /otpkeys/{prefix}/disable"],
  role: "support",
  summary: "Disable an otpkey",
  description:
    "OTPs of a disabled OTP key are refused. Use this for a lost key, with `end_sessions=true` to end the " +
    "sessions that it opened. The assignments and attributes stay, and so does a temporary code of the OTP key: " +
    "`DELETE` of the code revokes it.",
  body: z.object({ end_sessions: endSessionsField }),
  answers: { 204: { description: "Done." } },
  handle: async ({ params, body }, context: AuthContext) => {
    await access.setKeyEnabled(params.prefix, false, context);
    if (body.end_sessions) await access.endKeySessions(params.prefix, context);
    return noContent;
  },
});

export const setValidity = endpoint({
  ...ofKey,
  routes: ["POST /otpkeys/{prefix}/validity"],
  role: "admin",
  summary: "Set the time in which OTPs of an otpkey are accepted",
  description:
    "OTPs are accepted from `valid_from` on and before `valid_until`. A limit that is not given is removed. OTPs at " +
    "another time are refused and used up, and the user still needs an OTP to sign in.",
  body: z.lazy(() => z.object(validityFields())),
  answers: { 204: { description: "Done." } },
  check: fields => access.validityProblems(toValidity(fields)),
  handle: ({ params, body }, context: AuthContext) =>
    noContentAfter(access.setValidity(params.prefix, toValidity(body), context)),
});

const maxUses = 100;

const issued = z.lazy(() =>
  z
    .object({
      code: z.string().describe("What the user types in place of an OTP. It is shown only once."),
      uses: z.int().min(1).describe("How often the code is accepted."),
      valid_until: z.iso.datetime().describe("The code is accepted before this time."),
    })
    .meta({ id: "TemporaryCode" }),
);

export const issueTemporaryCode = endpoint({
  ...ofKey,
  routes: ["POST /otpkeys/{prefix}/temporary-code"],
  role: "support",
  summary: "Disable a lost otpkey and issue a temporary code",
  description:
    "Disables the OTP key and returns a random code that its users type as the OTP, together with their username. " +
    "The code is accepted `uses` times before `valid_until`, and replaces an earlier one. A use also counts if the " +
    "sign-in fails for another reason, such as a wrong password. The code is shown only in this " +
    "response; the service keeps a hash. Until the OTP key is enabled again, its users need an OTP, also after the " +
    "code has expired. Enabling the OTP key revokes the code. Where `AUTH_ALLOW_EMPTY_PASSWORD` is true, the call needs " +
    "the role `admin`, because the code can be the only factor of a user.",
  body: z.lazy(() =>
    z.object({
      uses: optionalInput(
        wholeNumberInput({ minimum: 1, maximum: maxUses }).refine(value => value >= 1 && value <= maxUses, {
          error: `must be a whole number from 1 to ${maxUses}`,
        }),
      ).describe(`How often the code is accepted, 1 to ${maxUses}; default: 1.`),
      valid_until: requiredTime(
        "The code is accepted before this time, ISO 8601; at most 31 days away, and within the validity of the otpkey.",
      ),
      end_sessions: endSessionsField,
    }),
  ),
  answers: { 201: { description: "The code.", schema: issued } },
  check: ({ valid_until: validUntil }, { now }: AuthContext) => access.codeTimeProblems(validUntil, now()),
  handle: async ({ params: { prefix }, body }, context: AuthContext, { caller }) => {
    // By the code alone the caller could sign in as a user without a password.
    if (context.rules.allowEmptyPassword && !hasRole(caller, "admin"))
      throw adminRequired("To issue a temporary code where users may sign in without a password");
    const { uses = 1, valid_until: validUntil, end_sessions } = body;
    const code = await access.issueTemporaryCode(prefix, { uses, validUntil }, context);
    if (end_sessions) await access.endKeySessions(prefix, context);
    return { status: 201, body: { code, uses, valid_until: validUntil } };
  },
});

export const revokeTemporaryCode = endpoint({
  ...ofKey,
  routes: ["DELETE /otpkeys/{prefix}/temporary-code", "POST /otpkeys/{prefix}/temporary-code/delete"],
  role: "support",
  summary: "Revoke the temporary code of an otpkey",
  description: "Revokes the code. The OTP key stays disabled, and its users still need an OTP.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(access.revokeTemporaryCode(params.prefix, context)),
});
