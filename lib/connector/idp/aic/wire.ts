import { decodeJwt } from "jose";
import * as z from "zod";
import type { Attestation } from "../../model/webauthn.ts";
import { creationOptionsSchema } from "../creation-options.ts";
import { pingBinary } from "../ping.ts";

/** AM uses the characters of this text as the user handle, without decoding them. */
const userHandle = z
  .string()
  .min(1)
  .transform(text => Buffer.from(text, "utf8").toString("base64url"));

export const journeyOptions = z.lazy(() => creationOptionsSchema({ binary: pingBinary, userHandle }));

/**
 * Returns the data of a MetadataCallback by the names of WebAuthn; undefined if it is not a registration. Members
 * without an underscore are pieces of a script.
 */
function metadataIn(callback: Callback, defaultRelyingPartyId: string): object | undefined {
  const data = z.record(z.string(), z.unknown()).safeParse(outputOf(callback, "data")).data;
  if (data?._type !== "WebAuthn" || (data._action ?? registration) !== registration) return undefined;
  return {
    challenge: data.challenge,
    // A node without a relying party id means AM's own domain.
    rp: { id: blankToUndefined(data._relyingPartyId) ?? defaultRelyingPartyId, name: data.relyingPartyName },
    user: { id: data.userId, name: data.userName, displayName: data.displayName },
    pubKeyCredParams: data._pubKeyCredParams,
    excludeCredentials: data._excludeCredentials,
    authenticatorSelection: data._authenticatorSelection,
    attestation: data.attestationPreference,
    timeout: data.timeout,
    extensions: data.extensions,
  };
}

const registration = "webauthn_registration";
const blankToUndefined = (value: unknown) => (typeof value === "string" && value.trim() === "" ? undefined : value);

/**
 * Returns the creation options of a step, not checked; undefined if it has none.
 * @param type the type of the callback that has them
 * @param defaultRelyingPartyId for a node without a relying party id
 */
export const optionsOf = (step: JourneyStep, type: string, defaultRelyingPartyId: string): object | undefined =>
  step.callbacks
    .filter(callback => callback.type === type)
    .map(callback => metadataIn(callback, defaultRelyingPartyId))
    .find(data => data !== undefined);

const withUserId = z.lazy(() => z.object({ user: z.object({ id: z.base64url().or(z.base64()) }) }));

/**
 * Returns AM's name of the user in creation options: their user id is its base64. Undefined if they have no name that
 * can be in a path.
 */
export function userNameIn(options: object | undefined): string | undefined {
  const { data } = withUserId.safeParse(options);
  const name = data && Buffer.from(data.user.id, "base64").toString("utf8");
  return name === undefined || /^\.{0,2}$|[\p{Cc}\uFFFD]/u.test(name) ? undefined : name;
}

/**
 * Returns the value of the hidden callback: client data as text, attestation as signed bytes, credential id and device
 * name, separated by `::`. It is inside JSON if the step supports that.
 */
export function outcomeOf(step: JourneyStep, attestation: Attestation, name: string): string {
  const legacyData = [
    Buffer.from(attestation.clientDataJson, "base64url").toString("utf8"),
    Int8Array.from(Buffer.from(attestation.attestationObject, "base64url")).toString(),
    attestation.credentialId,
    name.replace(/:{2,}/g, ":"),
  ].join("::");
  return step.callbacks.some(supportsJson)
    ? JSON.stringify({ authenticatorAttachment: "cross-platform", legacyData })
    : legacyData;
}

const jsonSupport = z.lazy(() => z.object({ supportsJsonResponse: z.literal(true) }));
const supportsJson = (callback: Callback) => jsonSupport.safeParse(outputOf(callback, "data")).success;

const refusal = z.lazy(() =>
  z.object({
    code: z.int(),
    reason: z.string(),
    message: z.string().nullish(),
    detail: z.object({ errorCode: z.string().optional() }).optional().catch(undefined),
  }),
);

/** Returns AM's error code, or its name of the status, and its message; nothing if the body is not AM's. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { reason, message, detail } = refusal.safeParse(body).data ?? {};
  return { code: detail?.errorCode ?? reason, detail: message ?? undefined };
}

/** Added to the message of a journey that fails with the user's name, which does not say why. */
export const userHint = ". Check that the user exists in the realm, is active and may have another device.";

/** A step of a journey. AM expects it back unchanged except for the inputs, so unknown members are kept. */
export const step = z.lazy(() => {
  const entries = z.array(z.looseObject({ name: z.string(), value: z.unknown() })).optional();
  const callback = z.looseObject({ type: z.string(), output: entries, input: entries });
  return z.looseObject({ authId: z.string().min(1), callbacks: z.array(callback).min(1) });
});
export type JourneyStep = z.output<typeof step>;
type Callback = JourneyStep["callbacks"][number];

/** The end of a journey, with or without a session. */
export const end = z.lazy(() =>
  z
    .object({ tokenId: z.string(), successUrl: z.string(), realm: z.string() })
    .partial()
    .refine(members => Object.keys(members).length > 0)
    .transform(() => undefined),
);

/** The input of a step that gets a value. */
interface Field {
  /** The type of the callback. */
  readonly type: string;
  /** The name of the input. Pages renumber inputs, so the name decides only if several callbacks have the type. */
  readonly tokenId: string;
  /** The `id` in the callback's output. It has priority over the name of the input. */
  readonly id?: string;
}

/** Returns the step with a value in one of its inputs; undefined if the step does not have that input. */
export function fillIn(of: JourneyStep, field: Field, value: string): JourneyStep | undefined {
  const candidates = of.callbacks.flatMap(callback => {
    const { type, input = [] } = callback;
    return type === field.type && input.length > 0 ? [{ callback, input }] : [];
  });
  const target =
    candidates.find(({ callback }) => field.id !== undefined && outputOf(callback, "id") === field.id) ??
    candidates.find(({ input }) => input.some(named(field.tokenId))) ??
    (candidates.length === 1 ? candidates[0] : undefined);
  if (target === undefined) return undefined;
  const at = Math.max(target.input.findIndex(named(field.tokenId)), 0);
  const input = target.input.map((each, index) => (index === at ? { ...each, value } : each));
  return { ...of, callbacks: of.callbacks.map(each => (each === target.callback ? { ...each, input } : each)) };
}

const named = (tokenId: string) => (input: { readonly name: string }) => input.name === tokenId;

/** Returns the value of an output of a callback. */
const outputOf = ({ output }: Callback, wanted: string): unknown => output?.find(({ name }) => name === wanted)?.value;

/** Returns the types of a step's callbacks, for messages. */
export const typesOf = ({ callbacks }: JourneyStep): string => callbacks.map(({ type }) => type).join(", ");

/** Seconds since 1970, up to the year 9999: the text of a later time does not sort. */
const expiry = z.number().min(0).max(253_402_300_799);

/** Returns the time until which AM accepts the step, from its `authId`; undefined if that is not readable. */
export function endOf({ authId }: JourneyStep): Date | undefined {
  try {
    return new Date(expiry.parse(decodeJwt(authId).exp) * 1000);
  } catch {
    return undefined;
  }
}
