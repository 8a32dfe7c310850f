import * as z from "zod";
import { trimEnd } from "../../../trim-end.ts";
import type { Attestation, CreationOptions } from "../../model/webauthn.ts";
import type { RegistrationQuery } from "../contract.ts";
import { optionMembers } from "../option-members.ts";
import { relyingPartyId } from "../relying-party-id.ts";

/** Takes a body also where it is wrapped in `value`, as some versions of Graph do. */
const perhapsWrapped = <T>(body: z.ZodType<T>) =>
  z.union([body, z.object({ value: body }).transform((wrapped): T => wrapped.value as T)]);

/** base64url, also where it came padded or in the standard alphabet. */
const unpadded = (text: string) => trimEnd(text.replaceAll("+", "-").replaceAll("/", "_"), "=");

/** Characters of the longest binary value: a challenge has about 7,000. */
const longestBinary = 32_768;
/** A credential id has at most 1,023 bytes (WebAuthn Level 3 section 4). */
const longestId = 2048;
const binary = z.string().min(1).max(longestBinary).transform(unpadded);

/** A digit at the end may count the padding that was left off, as ASP.NET writes it. */
const digitCounted = /^[A-Za-z0-9_-]+[012]$/;

/** base64url of an id in any of the three spellings that Graph uses: base64url, base64, base64url with a padding count. */
export function plainId(id: string): string {
  const text = unpadded(id);
  if (text !== id || !digitCounted.test(text)) return text;
  const shorter = text.slice(0, -1);
  const countFits = (4 - (shorter.length % 4)) % 4 === Number(text.at(-1));
  // Bits beyond the last byte are zero in what an encoder wrote, so a remainder that has some was not cut there.
  return countFits && isCanonical(shorter) ? shorter : text;
}

const isCanonical = (text: string) => Buffer.from(text, "base64url").toString("base64url") === text;

/** The longest display name that Graph takes. */
const longestDisplayName = 30;

export const displayNameOf = (name: string): string => [...name].slice(0, longestDisplayName).join("");

/** Clocks differ, and Graph cuts its times to seconds. */
const clockToleranceMs = 5 * 60_000;

/**
 * How a user's methods have the credential: by its id in any spelling, else, because Graph may list a method under a GUID, by a
 * display name that one method alone has, created since the activation. Undefined where the name does not tell one.
 */
export function isAmong(
  methods: readonly Method[],
  { credentialId, name, since }: RegistrationQuery,
): "by id" | "by name" | false | undefined {
  const ids = spellings(credentialId);
  if (methods.some(({ id }) => ids.has(id))) return "by id";
  const displayName = displayNameOf(name);
  const earliest = Date.parse(since) - clockToleranceMs;
  const alike = methods.filter(
    method => method.displayName === displayName && Date.parse(method.createdDateTime ?? "") >= earliest,
  );
  if (alike.length === 0) return false;
  // A name that was cut may have lost what tells it from another one.
  return alike.length === 1 && displayName === name ? "by name" : undefined;
}

/** Every spelling under which Graph may list a credential. */
export function spellings(credentialId: string): ReadonlySet<string> {
  const bytes = Buffer.from(credentialId, "base64url");
  const padded = bytes.toString("base64");
  return new Set([credentialId, padded, `${credentialId}${padded.length - padded.replaceAll("=", "").length}`]);
}

const algorithm = z.union([
  z.int(),
  z
    .string()
    .regex(/^-?\d+$/)
    .transform(Number),
]);
const parameter = z.object({ type: z.literal("public-key"), alg: algorithm });
const excluded = z.object({ id: z.string().min(1).max(longestId) });

const publicKey = z.object({
  rp: z.object({ id: relyingPartyId, name: z.string().optional() }),
  user: z.object({ id: binary, name: z.string(), displayName: z.string().nullish() }),
  challenge: binary,
  pubKeyCredParams: z.array(parameter).min(1),
  timeout: z.number().nullish(),
  excludeCredentials: z.array(excluded).nullish(),
  authenticatorSelection: optionMembers.nullish(),
  attestation: z.string().nullish(),
  extensions: optionMembers.nullish(),
});

export const creationOptionsAnswer = perhapsWrapped(
  z.object({
    challengeTimeoutDateTime: z.iso.datetime({ offset: true }).optional().catch(undefined),
    publicKey: publicKey.transform(toCreationOptions),
  }),
);

function toCreationOptions(told: z.output<typeof publicKey>): CreationOptions {
  const { rp, user, challenge, pubKeyCredParams, timeout, excludeCredentials } = told;
  const { authenticatorSelection, attestation, extensions } = told;
  return {
    rp: { id: rp.id, name: rp.name ?? rp.id },
    user: { id: user.id, name: user.name, displayName: user.displayName ?? user.name },
    challenge,
    pubKeyCredParams,
    ...(typeof timeout === "number" && { timeout }),
    ...(excludeCredentials && {
      excludeCredentials: excludeCredentials.map(({ id }) => ({ type: "public-key" as const, id: plainId(id) })),
    }),
    ...(authenticatorSelection && { authenticatorSelection }),
    ...(typeof attestation === "string" && { attestation }),
    ...(extensions && { extensions }),
  };
}

/** Without `type`, `rawId` and `authenticatorAttachment`: Graph takes exactly these members everywhere. */
export const registrationBody = (attestation: Attestation, displayName: string): object => ({
  displayName,
  publicKeyCredential: {
    id: attestation.credentialId,
    response: { clientDataJSON: attestation.clientDataJson, attestationObject: attestation.attestationObject },
    clientExtensionResults: attestation.clientExtensionResults,
  },
});

export const registrationAnswer = perhapsWrapped(z.object({ id: z.string().min(1) }));

const method = z.object({ id: z.string(), displayName: z.string().nullish(), createdDateTime: z.string().nullish() });
export type Method = z.output<typeof method>;

export const methodList = z.object({
  value: z.array(method),
  "@odata.nextLink": z.string().optional(),
});

const graphError = z.object({
  error: z.object({ code: z.string().optional(), message: z.string().optional(), innerError: z.unknown().optional() }),
});
const innerError = z.object({ code: z.string().optional(), innerError: z.unknown().optional() });

/** Graph's error code, the innermost being the most specific one, and its text. */
export function refusalOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { error } = graphError.safeParse(body).data ?? {};
  let code = error?.code;
  let inner = innerError.safeParse(error?.innerError).data;
  for (let depth = 0; inner !== undefined && depth < 10; depth++) {
    code = inner.code ?? code;
    inner = innerError.safeParse(inner.innerError).data;
  }
  return { code, detail: error?.message };
}
