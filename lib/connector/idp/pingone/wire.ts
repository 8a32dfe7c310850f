import * as z from "zod";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { Attestation } from "../../model/webauthn.ts";
import { undefinedIfGone } from "../../peers/access-token.ts";
import { creationOptionsSchema } from "../creation-options.ts";
import { pingBinary } from "../ping.ts";

/** Returns a filter by user name, a JSON string (RFC 7644 section 3.4.2.2) that no character can end. */
export const byUsername = (username: string): string => `username eq ${JSON.stringify(username)}`;

/** Ids are GUIDs. They are stored, and segments of URLs: with `..` a deletion would be that of the user. */
const shortId = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/);

export const pingOneUser = z.lazy(() =>
  z.object({
    id: shortId,
    username: z.string(),
    enabled: z.boolean().nullish(),
    mfaEnabled: z.boolean().nullish(),
  }),
);
export type PingOneUser = z.output<typeof pingOneUser>;

/** The users that a filter finds. A list without users may have no `_embedded`. */
export const userList = z.lazy(() =>
  z.union([
    z.object({ _embedded: z.object({ users: z.array(pingOneUser) }) }).transform(list => list._embedded.users),
    z
      .object({ _embedded: z.null().optional(), count: z.literal(0).optional(), size: z.literal(0).optional() })
      .transform(() => []),
  ]),
);

export const newDeviceBody = (relyingPartyId: string, policyId: string | undefined, nickname: string): object => ({
  type: "FIDO2",
  rp: { id: relyingPartyId, name: relyingPartyId },
  ...(policyId !== undefined && { policy: { id: policyId } }),
  nickname,
});

/** The options are parsed separately, so that the device can be removed if they are invalid. */
export const newDevice = z.lazy(() =>
  z.object({ id: shortId, publicKeyCredentialCreationOptions: z.unknown().optional() }),
);

export const pingOneOptions = z.lazy(() => creationOptionsSchema({ binary: pingBinary }));

/** Returns the creation options as an object: PingOne writes them as JSON inside a string. */
export function unwrapped(options: unknown): unknown {
  if (typeof options !== "string") return options;
  try {
    return JSON.parse(options);
  } catch {
    return undefined;
  }
}

export const activationType = "application/vnd.pingidentity.device.activate+json";

/** The attestation is JSON inside a string, with padded base64 but for `id`, as a browser's script sends it. */
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

export const device = z.lazy(() => z.object({ status: z.string() }));
/** A device that is not readable is undefined: it must not hide the others. */
const listedDevice = () =>
  z.object({ id: shortId, status: z.string(), nickname: z.string().nullish() }).optional().catch(undefined);
export const deviceList = z.lazy(() =>
  z
    .object({ _embedded: z.object({ devices: z.array(listedDevice()) }).nullish() })
    .transform(({ _embedded }) => _embedded?.devices ?? []),
);
export const activeDevice = z.lazy(() => z.object({ status: z.literal("ACTIVE") }));

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

/** Returns PingOne's error code and messages. The detail has the code of the maximum number of devices. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | undefined } {
  const { code, message, details = [] } = refusal.safeParse(body).data ?? {};
  const texts = [message, ...details.map(detail => detail.message)].filter(text => text != null);
  return {
    code: details.some(detail => detail.code === deviceCap) ? deviceCap : (code ?? undefined),
    detail: [...new Set(texts)].join(" "),
  };
}

/** PingOne reports the maximum number of devices like throttling, but waiting does not help. */
export function deviceCapAsRefusal(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.code !== deviceCap || error.kind !== "throttled") throw error;
  throw error.as("refused", { retryAfterSeconds: undefined });
}

/** A failure before the device is requested leaves no device behind, so none is searched for. */
export function asNothingCreated(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.kind !== "unanswered") throw error;
  throw error.as("unreachable");
}

/** Returns undefined if PingOne reports that the user is gone, ambiguous, or not readable for the client. */
export function undefinedIfRefused(error: unknown): undefined {
  const isRefused = error instanceof PeerFailure && (error.kind === "refused" || error.status === 403);
  if (isRefused && error.code !== undefined) return undefined;
  return undefinedIfGone(error);
}

/**
 * Returns a handler of the error by which the device of unusable creation options was not removed. The call then counts
 * as unanswered, so that the job searches for the device. It keeps its code, so that the caller learns about the
 * options and does not repeat the call (C6).
 */
export const asDeviceLeft =
  (unusable: unknown) =>
  (removalError: unknown): never => {
    if (!(unusable instanceof PeerFailure)) throw unusable;
    throw unusable.as("unanswered", { cause: removalError });
  };
