import * as z from "zod";
import { parseAttributeKey, parseAttributeValue } from "../../lib/auth/attributes/attributes.ts";
import { looksLikeOtp, readOtp } from "../../lib/auth/otpkeys/kinds/split-otp.ts";
import { noSuchKey } from "../../lib/auth/otpkeys/manage-otpkeys.ts";
import type { Validity } from "../../lib/auth/otpkeys/otpkey-access.ts";
import { foldPrefix, parsePrefix, prefixMaxLength } from "../../lib/auth/otpkeys/prefix.ts";
import { noSuchUser } from "../../lib/auth/users/manage-users.ts";
import { parseUsername, parseUserReference } from "../../lib/auth/users/username.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import type { Fault, Parsed } from "../../lib/platform/fault.ts";
import { timeField } from "../../lib/platform/http/time-field.ts";
import type { Instant } from "../../lib/platform/time.ts";

/** Returns a schema that parses a text by a rule of the domain. */
export const parsed = <T>(parse: (text: string) => Parsed<T>, description: string) =>
  z
    .string()
    .transform((text, context) => {
      const result = parse(text);
      if (result.ok) return result.value;
      context.addIssue({ code: "custom", message: result.reason });
      return z.NEVER;
    })
    .meta({ description });

/**
 * HTTP clients and the host remove dot segments from a path before this service sees it: a request for the attribute
 * `..` of bob arrives as one for bob.
 */
const dotWarning =
  "Check it before it becomes part of a path: `.` and `..` are removed by HTTP clients and by the host, so that " +
  "`DELETE …/users/bob/attributes/..` deletes the user bob.";

/** Returns a schema of a path segment. It throws the Fault for one that nothing can have. */
const segment = <T>(parse: (text: string) => T | undefined, notFound: () => Fault, description: string) =>
  z.lazy(() =>
    z
      .string()
      .transform((text): T => {
        const value = parse(text);
        if (value === undefined) throw notFound();
        return value;
      })
      .meta({ description }),
  );

/** `<id-or-username>` of a path. */
export const userParam = segment(
  parseUserReference,
  noSuchUser,
  "The user's numeric id, or the username percent-encoded once, with `%` as `%25`. In Azure a username with `%` and " +
    "two hexadecimal digits is 400 here: use the id.",
);

/** `<prefix>` of a path. */
export const prefixParam = segment(parsePrefix, noSuchKey, `The prefix of the otpkey. ${dotWarning}`);

/** The prefix of an OTP key as a field. */
export const prefixField = z.lazy(() =>
  z.string().transform((text, context) => {
    const prefix = parsePrefix(text);
    if (prefix !== undefined) return prefix;
    const form = `1 to ${prefixMaxLength} letters and digits`;
    const isOtp = text.length <= 64 && looksLikeOtp(foldPrefix(text));
    const message = isOtp ? `looks like an OTP: send the prefix alone, ${form}` : `must be ${form}`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }),
);

export const attributeKeyParam = z.lazy(() => parsed(parseAttributeKey, `The attribute's key. ${dotWarning}`));

/** The username as a field. */
export const usernameField = z.lazy(() => parsed(parseUsername, "A username."));

export const userParams = z.lazy(() => z.object({ user: userParam }));
export const keyParams = z.lazy(() => z.object({ prefix: prefixParam }));
export const userKeyParams = z.lazy(() => z.object({ user: userParam, prefix: prefixParam }));

/** What the endpoints of users, and of one user, have in common. */
export const ofUsers = { access: "caller", tag: "Users" } as const;
export const ofUser = { ...ofUsers, params: userParams };

/** What the endpoints of OTP keys have in common: of all, of one, of those of a user, and of one of a user. */
export const ofKeys = { access: "caller", tag: "OTP keys" } as const;
export const ofKey = { ...ofKeys, params: keyParams };
export const ofUserKeys = { ...ofKeys, params: userParams };
export const ofUserKey = { ...ofKeys, params: userKeyParams };

/** Returns a schema of an optional value. Null counts as absent (G4). */
export const optionalInput = <T extends z.ZodType>(schema: T) =>
  z.preprocess(value => value ?? undefined, schema.optional());

/** Returns a schema of an optional credential. An empty text counts as absent. */
export const optionalText = (description: string, read?: (text: string) => string) =>
  optionalInput(z.string().transform(text => (read ? read(text) : text) || undefined)).meta({ description });

/** Returns a schema of an optional OTP, without white space. */
export const optionalOtp = (description: string) => optionalText(description, readOtp);

const flag = z.lazy(() =>
  z.union([z.boolean(), z.enum(["true", "false"]).transform(text => text === "true")], {
    error: "must be true or false",
  }),
);

/** Returns a schema of an optional boolean, in JSON or as form text. */
export const optionalFlag = (description: string) =>
  optionalInput(flag).meta({ description, shownAs: { type: "boolean" } });

/** Whether the user must change the password before the next session (A24). */
export const mustChangeField = z.lazy(() =>
  optionalFlag("Whether the user must change the password before the next session; default: false."),
);

const integer = (text: RegExp, shownAs: object) =>
  z
    .union([z.int(), z.string().regex(text).transform(Number)], { error: "must be a whole number" })
    .meta({ shownAs: { type: "integer", ...shownAs } });

/** Returns the schema of a whole number, in JSON or as form text. */
export const wholeNumberInput = (shownAs: object) => integer(/^[0-9]{1,16}$/, shownAs);

/** The schema of a whole number that may be negative, in JSON or as form text. */
export const signedNumber = z.lazy(() => integer(/^-?[0-9]{1,16}$/, {}));

const timeAsShown = { type: "string", format: "date-time" };

/** Returns a schema of a time. */
export const requiredTime = (description: string) => timeField.meta({ description, shownAs: timeAsShown });

/** Returns a schema of an optional time. Absent, null and an empty text count as absent. */
const optionalTime = (description: string) =>
  z.preprocess(value => value || undefined, timeField.optional()).meta({ description, shownAs: timeAsShown });

/** The time in which OTPs of an OTP key are accepted. */
export const validityFields = () => ({
  valid_from: optionalTime("OTPs are accepted from this time on, ISO 8601."),
  valid_until: optionalTime("OTPs are accepted before this time, ISO 8601."),
});

/** Returns the limits that were given. */
export const toValidity = (given: {
  readonly valid_from?: Instant | undefined;
  readonly valid_until?: Instant | undefined;
}): Validity => omitUndefined({ validFrom: given.valid_from, validUntil: given.valid_until });

export const assignment = z.lazy(() => z.object({ otpkey: prefixField.describe("The prefix to assign.") }));

export const attribute = z.lazy(() =>
  z.object({
    key: parsed(parseAttributeKey, "The attribute's key."),
    value: parsed(parseAttributeValue, "The attribute's value. It replaces an existing value."),
  }),
);

/** The fields of authenticate, all optional (specification section 4); login adds `remember_device`. */
export const signInFields = () => ({
  username: optionalText("The username. Optional if the deployment identifies users by OTP."),
  password: optionalText("The password."),
  otp: optionalOtp("An OTP of one of the user's otpkeys. It is used up."),
});
export const signInCredentials = z.lazy(() => z.object(signInFields()).meta({ id: "SignInCredentials" }));

/** The header by which a program presents a device token. Browsers send the cookie. */
export const deviceHeader = z.object({
  "X-Service-Device": z
    .string()
    .optional()
    .describe("A device token of an earlier login: failures of other callers then do not lock this caller out."),
});
