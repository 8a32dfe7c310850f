import * as z from "zod";
import type { Attestation, CreationOptions } from "../../model/webauthn.ts";
import { binary, commonOptions, toCreationOptions } from "../ping-values.ts";
import { relyingPartyId } from "../relying-party-id.ts";

/** Returns a filter by user name. The value is a JSON string (RFC 7644 section 3.4.2.2), so no character in it can end it. */
export const byUsername = (username: string): string => `username eq ${JSON.stringify(username)}`;

/** Ids are GUIDs. The length is limited because they are stored. */
const shortId = z.string().min(1).max(128);

/** The users that a filter finds. A list without users may have no `_embedded`. */
export const userList = z.union([
  z
    .object({ _embedded: z.object({ users: z.array(z.object({ id: shortId, username: z.string() })) }) })
    .transform(list => list._embedded.users),
  z
    .object({ _embedded: z.null().optional(), count: z.literal(0).optional(), size: z.literal(0).optional() })
    .transform(() => []),
]);

export const newDeviceBody = (relyingPartyId: string, policyId: string | undefined, nickname: string): object => ({
  type: "FIDO2",
  rp: { id: relyingPartyId, name: relyingPartyId },
  ...(policyId !== undefined && { policy: { id: policyId } }),
  nickname,
});

/** The options are parsed separately, so that the device can be removed if they are invalid. */
export const newDevice = z.object({
  id: shortId,
  publicKeyCredentialCreationOptions: z.unknown().optional(),
});

const options = z.lazy(() =>
  z.object({
    ...commonOptions,
    rp: z.object({ id: relyingPartyId, name: z.string().nullish() }),
    user: z.object({ id: binary, name: z.string(), displayName: z.string().nullish() }),
  }),
);

/** Returns the creation options, which are JSON inside a string; undefined if they are not readable. */
export function readOptions(text: unknown): CreationOptions | undefined {
  const read = z.string().transform(parseJson).pipe(options).safeParse(text);
  return read.success ? toCreationOptions(read.data) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const activationType = "application/vnd.pingidentity.device.activate+json";

/** The attestation is JSON inside a string, with padded base64 in all members but `id`, as a browser's script sends it. */
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
export const deviceList = z.lazy(() =>
  z.object({
    _embedded: z
      .object({
        devices: z.array(z.object({ id: z.string().min(1), status: z.string(), nickname: z.string().nullish() })),
      })
      .nullish(),
  }),
);
export const activeDevice = z.object({ status: z.literal("ACTIVE") });

/** The code in the details of a refusal if the user has the maximum number of devices. Waiting does not help. */
export const deviceCap = "LIMIT_EXCEEDED";

const refusal = z.lazy(() =>
  z.object({
    code: z.string().nullish(),
    message: z.string().nullish(),
    details: z
      .array(z.object({ code: z.string().nullish(), message: z.string().nullish() }))
      .optional()
      .catch(undefined),
  }),
);

/** Returns PingOne's error code and messages. The maximum number of devices has the code of throttling; only its detail differs. */
export function refusalOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { code, message, details = [] } = refusal.safeParse(body).data ?? {};
  const texts = [message, ...details.map(detail => detail.message)].filter(text => text != null);
  return {
    code: details.some(detail => detail.code === deviceCap) ? deviceCap : (code ?? undefined),
    detail: [...new Set(texts)].join(" "),
  };
}
