import * as z from "zod";
import type { Immutable } from "../../platform/stored.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { Clock } from "./intervals.ts";
import type { CredentialRequest } from "./request.ts";
import type { Credential, SecurityKey } from "./security-key.ts";
import type { shownCredentialStates } from "./states.ts";

/**
 * Whether the credential can be used now or later: not after its end, and not once its revocation was asked for, unless
 * that failed.
 */
export const isUsable = ({ state, revocation }: Credential): boolean =>
  state !== "failed" && state !== "cancelled" && (revocation === undefined || revocation.state === "revoke_failed");

/** Returns the state of a credential in reads: that of its revocation, if there is one. */
export const shownState = ({ state, revocation }: Credential): (typeof shownCredentialStates)[number] =>
  revocation?.state ?? state;

/** Whether the credential is still to be removed at its IdP. */
export const isRevoking = ({ revocation }: Credential): boolean => revocation?.state === "revoking";

/** Returns a function that changes the credential of a security key at this position. */
export const withCredential =
  (index: number, change: (credential: Credential) => Credential) =>
  (key: SecurityKey): SecurityKey => ({
    ...key,
    credentials: key.credentials.map((credential, position) => (position === index ? change(credential) : credential)),
  });

/** Whether any credential of the security key has no response yet. */
export const isWaiting = ({ credentials }: Pick<SecurityKey, "credentials">): boolean =>
  credentials.some(({ state }) => state === "processing");

/** Whether any credential of the security key had a response, or has ended. */
export const hasProgressed = ({ credentials }: Pick<SecurityKey, "credentials">): boolean =>
  credentials.some(({ state }) => state !== "processing");

/** Whether every challenge without a response has expired, so that no response can be activated any more. */
export const isTooLateFor = ({ credentials }: SecurityKey, request: CredentialRequest, clock: Clock): boolean =>
  credentials
    .filter(({ state }) => state === "processing")
    .every(credential => challengeEnd(credential, request, clock) <= clock.now());

/**
 * Returns the time at which the credential's challenge expires; `credentialMaxMs` after the creation if the IdP names
 * none (C8).
 */
export const challengeEnd = (
  { challengeExpiresAt }: Credential,
  { createdAt }: Pick<CredentialRequest, "createdAt">,
  { intervals }: Pick<Clock, "intervals">,
): Instant => challengeExpiresAt ?? plus(createdAt, intervals.credentialMaxMs);

/** Returns the message of a credential in reads: why it ended, or why the last attempt to get or activate it failed. */
export const credentialMessage = (
  { state, errorMessage, retry }: Credential,
  { enrollment }: Pick<SecurityKey, "enrollment">,
): string | undefined =>
  errorMessage ?? retry?.lastError ?? (state === "processing" ? enrollment?.lastError : undefined);

/** The responses of a security key as received from its peer, still encrypted. */
export const keyResponsesSchema = z.lazy(() =>
  z.object({
    serial: z.string().exactOptional(),
    firmware: z.string().exactOptional(),
    credentials: z.array(z.string()),
    pinResponse: z.string().exactOptional(),
  }),
);
export type KeyResponses = Immutable<z.output<typeof keyResponsesSchema>>;
