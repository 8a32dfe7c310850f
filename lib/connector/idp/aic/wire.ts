import * as z from "zod";
import type { Attestation, CreationOptions } from "../../model/webauthn.ts";
import { commonOptions, toCreationOptions } from "../ping-values.ts";
import { longestRelyingPartyId } from "../relying-party-id.ts";
import { readLiteral, readScript } from "./read-script.ts";
import { type Callback, outputOf, type Step } from "./step.ts";

/** AM uses the characters of this text as the user handle, without decoding them. */
const handleText = z
  .string()
  .min(1)
  .transform(text => Buffer.from(text, "utf8").toString("base64url"));

/**
 * Returns the member whose name begins with an underscore. Older versions have only the one without it, which is a piece of script, or a
 * value in the vendor's mock.
 */
function preferring(data: Record<string, unknown>, name: string, read: (literal: string) => unknown): unknown {
  const plain = data[name];
  if (data[`_${name}`] != null) return data[`_${name}`];
  if (typeof plain !== "string") return plain;
  return plain === "" ? undefined : read(plain);
}

const named = z.object({ id: z.unknown() });
/** Returns the relying party id in `id: "keys.example",` of a script, or in the bare id. */
const relyingPartyIn = (text: string): unknown =>
  named.safeParse(readLiteral(`{${text}}`)).data?.id ?? (/^[A-Za-z0-9.-]+$/.test(text) ? text : undefined);

/** Returns the data of a MetadataCallback by the names that a script uses; undefined if it is not a registration. */
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

const options = z.lazy(() =>
  z.object({
    ...commonOptions,
    rp: z.object({ id: z.string().max(longestRelyingPartyId).nullish(), name: z.string().nullish() }),
    user: z.object({ id: handleText, name: z.string(), displayName: z.string().nullish() }),
  }),
);

/**
 * Returns the creation options of a step, or why there are none.
 * @param type the type of the callback that has them: `TextOutputCallback` for scripts, otherwise one like `MetadataCallback`
 */
export function optionsOf(step: Step, type: string): CreationOptions | "absent" | "unreadable" | "no relying party" {
  const readFrom = type === "TextOutputCallback" ? scriptIn : metadataIn;
  const found = step.callbacks.filter(callback => callback.type === type).map(readFrom);
  const first = found.find(data => data !== undefined);
  if (first === undefined) return "absent";
  const { success, data } = options.safeParse(first);
  if (!success) return "unreadable";
  const { rp } = data;
  return rp.id ? toCreationOptions({ ...data, rp: { id: rp.id, name: rp.name } }) : "no relying party";
}

/**
 * Returns the value of the hidden callback: client data as text, attestation as signed bytes, credential id and device name, separated
 * by `::`. It is inside JSON if the step supports that.
 */
export function outcomeOf(step: Step, attestation: Attestation, name: string): string {
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
export function refusalOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { reason, message, detail } = refusal.safeParse(body).data ?? {};
  return { code: detail?.errorCode ?? reason, detail: message ?? undefined };
}
