import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { hasControlCharacters, withoutHiddenCharacters } from "../../platform/text.ts";
import type { Credential } from "../model/credential.ts";
import type { CreationOptions } from "../model/webauthn.ts";
import type { OptionsRequest } from "./contract.ts";
import { isRelyingPartyId, relyingPartyReason } from "./kind.ts";

/** Returns the options request of a credential. Its tag is computed, so that a later look-up has the same. */
export const optionsRequestOf = (
  requestId: string,
  keyId: string,
  index: number,
  { userId, relyingPartyId }: Credential,
): OptionsRequest => ({
  userId,
  ...(relyingPartyId && { relyingPartyId }),
  tag: `${requestId}.${keyId}.${index + 1}`,
});

/** How a kind of IdP writes binary values. Each schema parses to base64url. */
interface BinaryForms {
  readonly binary: z.ZodType<string>;
  /** By default `binary`. */
  readonly userHandle?: z.ZodType<string>;
  /** By default `binary`. */
  readonly credentialId?: z.ZodType<string>;
}

/**
 * The maximum number of bytes. A challenge of Microsoft Graph has about 5,200; the others are limits of WebAuthn Level
 * 3 sections 4 and 5.4.3.
 */
const longest = { challenge: 24_576, userHandle: 64, credentialId: 1023 };
const longestName = 256;
const longestList = 1000;

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** A binary value as base64 in either alphabet, with or without padding. Parsed to base64url. */
export const base64Text = z
  .string()
  .refine(text => base64.test(text) && text.replaceAll("=", "").length % 4 !== 1, "must be base64url")
  .transform(text => Buffer.from(text, "base64").toString("base64url"));

const sized = (form: z.ZodType<string>, bytes: number) =>
  form.refine(text => Buffer.byteLength(text, "base64url") <= bytes, `must have at most ${bytes} bytes`);

/** A name that key maker, authenticator and browsers show. */
const name = z
  .string()
  .refine(
    text => text.isWellFormed() && !hasControlCharacters(text) && [...text].length <= longestName,
    `must be one line of at most ${longestName} characters without control characters`,
  );

/** A blank one is refused by the delivery service, as a fault of the caller, who did not send it. */
const accountName = name.refine(text => withoutHiddenCharacters(text).trim() !== "", "must not be blank");

/** A whole number, also as text. */
const whole = (min: number, max: number) =>
  z.union([
    z.int().min(min).max(max),
    z
      .string()
      .regex(/^-?\d{1,10}$/)
      .transform(Number)
      .pipe(z.int().min(min).max(max)),
  ]);

/** The range of `COSEAlgorithmIdentifier` and of `timeout` (WebAuthn Level 3 sections 5.8.5 and 5.4). */
const algorithm = z.lazy(() => whole(-(2 ** 31), 2 ** 31 - 1));
const timeout = z.lazy(() => whole(0, 2 ** 32 - 1));

/** A list without entries of types other than `public-key` (WebAuthn Level 3 sections 5.4 and 5.8.3). */
const publicKeys = <T extends z.ZodRawShape>(members: T) =>
  z
    .array(z.unknown())
    .max(longestList)
    .transform(entries => entries.filter(isPublicKey))
    .pipe(z.array(z.object({ type: z.literal("public-key").default("public-key"), ...members })));
const isPublicKey = (entry: unknown) => {
  const type = (entry as { readonly type?: unknown } | null)?.type;
  return type === undefined || type === "public-key";
};

/** A member of a known set. Unknown values must be ignored (WebAuthn Level 3 sections 5.4 and 5.4.4). */
const oneOf = <const T extends readonly string[]>(...values: T) => z.enum(values).optional().catch(undefined);

const absentIfNull = <T extends z.ZodType>(member: T) => member.nullish().transform(value => value ?? undefined);

/**
 * An object whose members are passed to the key maker unchanged, but without OData's annotations, which Microsoft Graph
 * sends at every depth (`@odata.type`, `name@odata.type`).
 */
const optionMembers = z.lazy(() =>
  z.record(z.string(), z.unknown()).transform((members, context): Record<string, unknown> => {
    try {
      return JSON.parse(JSON.stringify(members, (name, value) => (name.includes("@odata.") ? undefined : value)));
    } catch {
      context.addIssue({ code: "custom", message: "is nested too deeply" });
      return z.NEVER;
    }
  }),
);

const requirement = () => oneOf("discouraged", "preferred", "required");
const selection = z.lazy(() =>
  optionMembers
    .pipe(
      z.looseObject({
        authenticatorAttachment: oneOf("platform", "cross-platform"),
        residentKey: requirement(),
        requireResidentKey: z
          .union([z.boolean(), z.enum(["true", "false"]).transform(text => text === "true")])
          .optional()
          .catch(undefined),
        userVerification: requirement(),
      }),
    )
    .transform(members => omitUndefined(members)),
);

/** Returns the schema of creation options of one kind of IdP, the only check before they go to the key maker. */
export const creationOptionsSchema = ({ binary, userHandle = binary, credentialId = binary }: BinaryForms) =>
  z
    .object({
      rp: z
        .object({ id: z.string().refine(isRelyingPartyId, relyingPartyReason), name: name.nullish() })
        .transform(({ id, name }) => ({ id, name: name || id })),
      user: z
        .object({ id: sized(userHandle, longest.userHandle), name: accountName, displayName: name.nullish() })
        .transform(user => ({ ...user, displayName: user.displayName ?? user.name })),
      challenge: sized(binary, longest.challenge),
      pubKeyCredParams: publicKeys({ alg: algorithm }).refine(
        ({ length }) => length > 0,
        "must have an algorithm of type public-key",
      ),
      // A hint only, so an invalid one is ignored.
      timeout: absentIfNull(timeout).catch(undefined),
      excludeCredentials: absentIfNull(publicKeys({ id: sized(credentialId, longest.credentialId) })),
      authenticatorSelection: absentIfNull(selection),
      attestation: oneOf("none", "indirect", "direct", "enterprise"),
      extensions: absentIfNull(optionMembers),
    })
    .transform((options): CreationOptions => omitUndefined(options));

const unusableOptions = "unusable_options";

/** Whether an administrator of the IdP must correct the creation options: a repetition does not help. */
export const isUnusable = (error: unknown): error is PeerFailure =>
  error instanceof PeerFailure && error.code === unusableOptions;

const operation = "creation options";

/**
 * Parses the creation options of an IdP.
 * @param expectedRelyingPartyId the relying party id of the request, if it names one
 * @throws PeerFailure `refused` that names each wrong member, never a value but the relying party
 */
export function readCreationOptions(
  schema: z.ZodType<CreationOptions>,
  options: unknown,
  { peer, expectedRelyingPartyId }: { readonly peer: string; readonly expectedRelyingPartyId?: string | undefined },
): CreationOptions {
  const { data, error } = schema.safeParse(options);
  if (error !== undefined) throw unusable(peer, problemsOf(error));
  if (expectedRelyingPartyId === undefined || expectedRelyingPartyId === data.rp.id) return data;
  const detail = `The relying party of this IdP is ${data.rp.id}; its configuration has another default-relying-party.`;
  throw unusable(peer, detail);
}

/** Returns the failure of an IdP with unusable creation options. @param detail what is wrong with them */
export const unusable = (peer: string, detail: string): PeerFailure =>
  new PeerFailure(peer, operation, "refused", { code: unusableOptions, detail });

function problemsOf({ issues }: z.ZodError): string {
  const problems = issues.map(({ code, path, message }) => {
    const reason = code === "custom" ? message : "is missing or cannot be read";
    return `${path.join(".") || "the object"} ${reason}`;
  });
  return [...new Set(problems)].slice(0, 5).join("; ");
}
