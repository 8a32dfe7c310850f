import * as z from "zod";
import type { Attestation, CreationOptions } from "../../model/webauthn.ts";
import { relyingPartyId } from "../relying-party-id.ts";
import { binary, commonOptions, toCreationOptions } from "./values.ts";

/** A search by user name; the value is a JSON string by RFC 7644 section 3.4.2.2, so nothing in it ends it. */
export const byUsername = (username: string): string => `username eq ${JSON.stringify(username)}`;

/** Ids are GUIDs; they are stored. */
const shortId = z.string().min(1).max(128);

export const userList = z.object({
  _embedded: z.object({ users: z.array(z.object({ id: shortId, username: z.string() })) }),
});

export const newDeviceBody = (relyingPartyId: string, policyId: string | undefined, nickname: string): object => ({
  type: "FIDO2",
  rp: { id: relyingPartyId, name: relyingPartyId },
  ...(policyId !== undefined && { policy: { id: policyId } }),
  nickname,
});

/** The options are read apart, so that the device can be taken back where they are no good. */
export const newDevice = z.object({
  id: shortId,
  publicKeyCredentialCreationOptions: z.unknown().optional(),
});

const options = z.object({
  ...commonOptions,
  rp: z.object({ id: relyingPartyId, name: z.string().nullish() }),
  user: z.object({ id: binary, name: z.string(), displayName: z.string().nullish() }),
});

/** The options, which come as JSON inside a string; undefined where they are not readable. */
export function readOptions(told: unknown): CreationOptions | undefined {
  const read = z.string().transform(jsonOf).pipe(options).safeParse(told);
  return read.success ? toCreationOptions(read.data) : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const activationType = "application/vnd.pingidentity.device.activate+json";

/** JSON inside a string again; padded base64 for all but `id`, as a browser's script would send it. */
export const activationBody = (origin: string, attestation: Attestation): object => ({
  origin,
  attestation: JSON.stringify({
    id: attestation.credentialId,
    type: "public-key",
    rawId: padded(attestation.credentialId),
    response: {
      clientDataJSON: padded(attestation.clientDataJson),
      attestationObject: padded(attestation.attestationObject),
    },
    clientExtensionResults: attestation.clientExtensionResults,
  }),
});

const padded = (base64url: string) => Buffer.from(base64url, "base64url").toString("base64");

export const device = z.object({ status: z.string() });
export const deviceList = z.object({
  _embedded: z
    .object({
      devices: z.array(z.object({ id: z.string().min(1), status: z.string(), nickname: z.string().nullish() })),
    })
    .nullish(),
});
export const activeDevice = z.object({ status: z.literal("ACTIVE") });

/** As a detail of a refusal: the user has as many devices as the environment allows, which no waiting changes. */
export const deviceCap = "LIMIT_EXCEEDED";

const refusal = z.object({
  code: z.string().optional(),
  message: z.string().optional(),
  details: z
    .array(z.object({ code: z.string().optional(), message: z.string().optional() }))
    .optional()
    .catch(undefined),
});

/** PingOne's error code and its texts. The cap on devices comes under the code of throttling: its detail tells the two apart. */
export function refusalOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { code, message, details = [] } = refusal.safeParse(body).data ?? {};
  const texts = [message, ...details.map(detail => detail.message)].filter(text => text !== undefined);
  return {
    code: details.some(detail => detail.code === deviceCap) ? deviceCap : code,
    detail: [...new Set(texts)].join(" "),
  };
}
