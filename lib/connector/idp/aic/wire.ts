import * as z from "zod";
import type { Attestation } from "../../model/webauthn.ts";
import { creationOptionsSchema } from "../creation-options.ts";
import { pingBinary } from "../ping.ts";
import { type JourneyStep, outputOf } from "./step.ts";

/** AM uses the characters of this text as the user handle, without decoding them. */
const userHandle = z
  .string()
  .min(1)
  .transform(text => Buffer.from(text, "utf8").toString("base64url"));

export const journeyOptions = z.lazy(() => creationOptionsSchema({ binary: pingBinary, userHandle }));

/**
 * Returns the member whose name begins with an underscore. Older versions have only the one without it, which is a
 * piece of a script, or a value in the vendor's mock.
 */
function preferring(data: Record<string, unknown>, name: string, read: (piece: string) => unknown): unknown {
  const plain = data[name];
  if (data[`_${name}`] != null) return data[`_${name}`];
  if (typeof plain !== "string") return plain;
  return plain.trim() === "" ? undefined : read(plain);
}

/** Returns the relying party id in `id: "keys.example",` of a script, or the text as it is. */
const relyingPartyIn = (piece: string): unknown => /^id:\s*"([^"]*)",?$/.exec(piece.trim())?.[1] ?? piece;

/** Returns the value of a piece of a script that is JSON but for arrays of bytes; nothing is run. */
function literalOf(piece: string): unknown {
  try {
    return JSON.parse(piece.replace(/\bnew (?:Int8|Uint8)Array\((\[[-\d,\s]*\])\)(?:\.buffer)?/g, "$1"));
  } catch {
    return piece;
  }
}

type Callback = JourneyStep["callbacks"][number];

/** Returns the data of a MetadataCallback by the names of WebAuthn; undefined if it is not a registration. */
function metadataIn(callback: Callback, defaultRelyingPartyId: string): object | undefined {
  const data = z.record(z.string(), z.unknown()).safeParse(outputOf(callback, "data")).data;
  if (data?._type !== "WebAuthn" || (data._action ?? registration) !== registration) return undefined;
  return {
    challenge: data.challenge,
    // A node without a relying party id means AM's own domain.
    rp: {
      id: blankToUndefined(preferring(data, "relyingPartyId", relyingPartyIn)) ?? defaultRelyingPartyId,
      name: data.relyingPartyName,
    },
    user: { id: data.userId, name: data.userName, displayName: data.displayName },
    pubKeyCredParams: preferring(data, "pubKeyCredParams", literalOf),
    excludeCredentials: preferring(data, "excludeCredentials", piece => literalOf(`[${piece}]`)),
    authenticatorSelection: preferring(data, "authenticatorSelection", literalOf),
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

const named = z.lazy(() => z.object({ user: z.object({ id: z.base64url().or(z.base64()) }) }));

/**
 * Returns AM's name of the user in creation options: their user id is its base64. Undefined if they have no name that
 * can be in a path.
 */
export function userNameIn(options: object | undefined): string | undefined {
  const { data } = named.safeParse(options);
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

const jsonSupport = z.object({ supportsJsonResponse: z.literal(true) });
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
