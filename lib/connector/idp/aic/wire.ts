import * as z from "zod";
import type { Attestation, CreationOptions } from "../../model/webauthn.ts";
import { commonOptions, toCreationOptions } from "../pingone/values.ts";
import { longestRelyingPartyId } from "../relying-party-id.ts";
import { readLiteral, readScript } from "./script.ts";
import { type Callback, outputOf, type Step } from "./step.ts";

/** AM takes the letters of this text for the user's handle and never decodes them. */
const handleText = z
  .string()
  .min(1)
  .transform(text => Buffer.from(text, "utf8").toString("base64url"));

/**
 * Prefers the member that begins with an underscore. The one without, which older versions have alone, is text of a script, or a
 * value as in the vendor's mock.
 */
function preferring(data: Record<string, unknown>, name: string, read: (literal: string) => unknown): unknown {
  const plain = data[name];
  if (data[`_${name}`] != null) return data[`_${name}`];
  if (typeof plain !== "string") return plain;
  return plain === "" ? undefined : read(plain);
}

const named = z.object({ id: z.unknown() });
/** `id: "keys.example",` of a script, or the bare id. */
const relyingPartyIn = (text: string): unknown =>
  named.safeParse(readLiteral(`{${text}}`)).data?.id ?? (/^[A-Za-z0-9.-]+$/.test(text) ? text : undefined);

/** The data of a MetadataCallback by the names that a script has; undefined where it is no registration. */
function metadataIn(callback: Callback): unknown {
  const data = z.record(z.string(), z.unknown()).safeParse(outputOf(callback, "data")).data;
  if (data?._type !== "WebAuthn" || (data._action ?? registration) !== registration) return undefined;
  return {
    challenge: data.challenge,
    rp: { id: preferring(data, "relyingPartyId", relyingPartyIn), name: data.relyingPartyName },
    user: { id: data.userId, name: data.userName, displayName: data.displayName },
    pubKeyCredParams: preferring(data, "pubKeyCredParams", readLiteral),
    excludeCredentials: preferring(data, "excludeCredentials", literal => readLiteral(`[${literal}]`)),
    authenticatorSelection: preferring(data, "authenticatorSelection", readLiteral),
    attestation: data.attestationPreference,
    timeout: data.timeout,
    extensions: data.extensions,
  };
}

const registration = "webauthn_registration";

function scriptIn(callback: Callback): unknown {
  const message = outputOf(callback, "message");
  return typeof message === "string" ? readScript(message) : undefined;
}

const options = z.object({
  ...commonOptions,
  rp: z.object({ id: z.string().max(longestRelyingPartyId).nullish(), name: z.string().nullish() }),
  user: z.object({ id: handleText, name: z.string(), displayName: z.string().nullish() }),
});

/**
 * The creation options that a step has, or what is wrong with it.
 * @param type of the callback that carries them: `TextOutputCallback` for scripts, else the form of `MetadataCallback`
 */
export function optionsOf(step: Step, type: string): CreationOptions | "absent" | "unreadable" | "no relying party" {
  const readFrom = type === "TextOutputCallback" ? scriptIn : metadataIn;
  const found = step.callbacks.filter(callback => callback.type === type).map(readFrom);
  const first = found.find(told => told !== undefined);
  if (first === undefined) return "absent";
  const told = options.safeParse(first);
  if (!told.success) return "unreadable";
  const { rp } = told.data;
  return rp.id ? toCreationOptions({ ...told.data, rp: { id: rp.id, name: rp.name } }) : "no relying party";
}

/**
 * What goes into the hidden callback: the exact client data as text, the attestation as signed bytes, the credential id, the
 * device's name, kept apart by `::`; inside JSON where the step says that it takes that.
 */
export function outcomeOf(step: Step, attestation: Attestation, name: string): string {
  const legacyData = [
    Buffer.from(attestation.clientDataJson, "base64url").toString("utf8"),
    Int8Array.from(Buffer.from(attestation.attestationObject, "base64url")).toString(),
    attestation.credentialId,
    name.replace(/:{2,}/g, ":"),
  ].join("::");
  return step.callbacks.some(takesJson)
    ? JSON.stringify({ authenticatorAttachment: "cross-platform", legacyData })
    : legacyData;
}

const jsonTaker = z.object({ supportsJsonResponse: z.literal(true) });
const takesJson = (callback: Callback) => jsonTaker.safeParse(outputOf(callback, "data")).success;

const refusal = z.object({
  code: z.int(),
  reason: z.string(),
  message: z.string().optional(),
  detail: z.object({ errorCode: z.string().optional() }).optional().catch(undefined),
});

/** AM's error code, else its word for the status, and its text; neither where the body is not AM's. */
export function refusalOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { reason, message, detail } = refusal.safeParse(body).data ?? {};
  return { code: detail?.errorCode ?? reason, detail: message };
}
