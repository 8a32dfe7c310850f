import * as z from "zod";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { trimEnd } from "../../../platform/text.ts";
import { minutes } from "../../../platform/time.ts";
import type { Attestation } from "../../model/webauthn.ts";
import { readAttestation } from "../../peers/bind-response.ts";
import type { RegisteredCredential, RegistrationQuery } from "../contract.ts";
import { base64Text, creationOptionsSchema } from "../creation-options.ts";
import { isUuid } from "../user-check.ts";

/** Accepts a body also inside `value`, as some versions of Graph send it. */
const optionallyWrapped = <T>(body: z.ZodType<T>) =>
  z.union([body, z.object({ value: body }).transform((wrapped): T => wrapped.value as T)]);

/** Returns base64url for text that may be padded or in the standard alphabet. */
const unpadded = (text: string) => trimEnd(text.replaceAll("+", "-").replaceAll("/", "_"), "=");

/** ASP.NET writes the number of omitted padding characters as a digit at the end. */
const withPaddingCount = /^[A-Za-z0-9_-]+[012]$/;

/** Returns base64url for an id in any of Graph's three spellings: base64url, base64, base64url with a padding count. */
export function normalizeId(id: string): string {
  const text = unpadded(id);
  if (text !== id || !withPaddingCount.test(text)) return text;
  const shorter = text.slice(0, -1);
  const countFits = (4 - (shorter.length % 4)) % 4 === Number(text.at(-1));
  // An encoder sets the bits after the last byte to zero. If they are not zero, the digit is part of the id.
  return countFits && isCanonical(shorter) ? shorter : text;
}

const isCanonical = (text: string) => Buffer.from(text, "base64url").toString("base64url") === text;

/** The maximum length of a display name that Graph accepts. */
const longestDisplayName = 30;

export const displayNameOf = (name: string): string => [...name].slice(0, longestDisplayName).join("");

/** Clocks differ, and Graph's times have no fraction of a second. */
const clockToleranceMs = minutes(5);

/**
 * Whether the credential is among a user's methods: true if its id is, in any spelling. Graph may list a method under a
 * GUID: then the id of the method with its display name, if exactly one that was created since the activation has it;
 * otherwise, and without a name if any method was created since, the result is undefined. Methods of the other
 * credentials on the key, which have the same name, do not count.
 */
export function findMethod(
  methods: readonly Method[],
  { credentialId, name, since, others = [] }: RegistrationQuery,
): boolean | string | undefined {
  const ids = spellings(credentialId);
  if (methods.some(({ id }) => ids.has(id))) return true;
  const displayName = name === undefined ? undefined : displayNameOf(name);
  const earliest = Date.parse(since) - clockToleranceMs;
  const otherIds = new Set(others.flatMap(id => [id, ...spellings(id)]));
  const sameName = methods.filter(
    method =>
      !otherIds.has(method.id) &&
      (displayName === undefined || method.displayName === displayName) &&
      Date.parse(method.createdDateTime ?? "") >= earliest,
  );
  const [only, ...more] = sameName;
  if (only === undefined) return false;
  // Cut names may be equal although the names differ.
  return more.length === 0 && name !== undefined && displayName === name ? only.id : undefined;
}

/**
 * Returns the id under which a user's methods have the credential; undefined if they do not have it, `unclear` if it
 * may be listed under a GUID that is not known.
 */
export function methodIdOf(
  methods: readonly Method[],
  { credentialId, registrationId }: RegisteredCredential,
): { readonly id: string } | "unclear" | undefined {
  const ids = spellings(credentialId);
  const found = methods.find(({ id }) => ids.has(id) || id === registrationId);
  return found ?? (registrationId === undefined && methods.some(({ id }) => isUuid(id)) ? "unclear" : undefined);
}

/**
 * Returns the path segment of a user, by object id or user principal name. Graph requires the quoted form for names
 * that begin with `$`. Names such as `.` and `..` need it too, because URL parsing would resolve them.
 */
export function userSegment(userId: string): string {
  const encoded = encodeURIComponent(userId.toWellFormed());
  return /^[$.]/.test(userId) ? `('${encoded.replaceAll("'", "''")}')` : `/${encoded}`;
}

/** Returns every spelling under which Graph may list a credential id. */
export function spellings(credentialId: string): ReadonlySet<string> {
  const bytes = Buffer.from(credentialId, "base64url");
  const padded = bytes.toString("base64");
  return new Set([credentialId, padded, `${credentialId}${padded.length - padded.replaceAll("=", "").length}`]);
}

/**
 * Whether the id of a new method can be that of a credential: the credential id in any spelling, or a GUID, which has
 * no relation to it.
 */
export const mayBeCredential = (id: string, credentialId: string): boolean =>
  isUuid(id) || unpadded(id) === credentialId || spellings(credentialId).has(id);

/** The options are parsed separately: a call whose response has invalid ones must not be repeated. */
export const creationOptionsResponse = z.lazy(() =>
  optionallyWrapped(
    z.object({ challengeTimeoutDateTime: z.unknown().optional(), publicKey: z.record(z.string(), z.unknown()) }),
  ),
);

export const graphOptions = z.lazy(() =>
  creationOptionsSchema({ binary: base64Text, credentialId: z.string().transform(normalizeId).pipe(base64Text) }),
);

/** Graph's time of expiry; undefined if the response has none. */
export const challengeTimeout = z.lazy(() =>
  z.iso
    .datetime({ offset: true })
    .transform(text => new Date(text))
    .nullish(),
);

/** Has no `type`, `rawId` and `authenticatorAttachment`: every version of Graph accepts exactly these members. */
export const registrationBody = (attestation: Attestation, displayName: string): object => ({
  displayName,
  publicKeyCredential: {
    id: attestation.credentialId,
    response: { clientDataJSON: attestation.clientDataJson, attestationObject: attestation.attestationObject },
    clientExtensionResults: attestation.clientExtensionResults,
  },
});

export const registrationResponse = z.lazy(() => optionallyWrapped(z.object({ id: z.string().min(1) })));

const method = z.lazy(() =>
  z.object({ id: z.string(), displayName: z.string().nullish(), createdDateTime: z.string().nullish() }),
);
export type Method = z.output<typeof method>;

export const graphUser = z.lazy(() =>
  z.object({
    id: z.string().optional(),
    accountEnabled: z.boolean().nullish(),
    userType: z.string().nullish(),
  }),
);

export const methodList = z.lazy(() => z.object({ value: z.array(method), "@odata.nextLink": z.string().optional() }));

const graphError = z.lazy(() =>
  z.object({
    error: z.object({ code: z.string().nullish(), message: z.string().nullish(), innerError: z.unknown().optional() }),
  }),
);
const innerError = z.lazy(() => z.object({ code: z.string().nullish(), innerError: z.unknown().optional() }));

/** Returns Graph's innermost error code, which is the most specific one, and its message. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { error } = graphError.safeParse(body).data ?? {};
  let code = error?.code ?? undefined;
  let inner = innerError.safeParse(error?.innerError).data;
  for (let depth = 0; inner !== undefined && depth < 10; depth++) {
    code = inner.code ?? code;
    inner = innerError.safeParse(inner.innerError).data;
  }
  return { code, detail: error?.message ?? undefined };
}

/** The attestation statement formats that Microsoft Graph documents for keys that an administrator registers. */
const accepted: readonly string[] = ["packed", "none"];

/** Returns a handler of a refused registration, which names an attestation format that Graph does not document. */
export const withAttestationFormat =
  (attestationObject: string) =>
  (error: unknown): never => {
    const format = readAttestation(attestationObject)?.format;
    if (!(error instanceof PeerFailure) || error.kind !== "refused") throw error;
    if (format === undefined || accepted.includes(format)) throw error;
    const note = `The attestation has the format ${format}; Microsoft Graph accepts packed and none.`;
    throw error.as("refused", { detail: `${error.detail ?? ""} ${note}`.trim() });
  };
