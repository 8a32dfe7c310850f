import { type Instant, plus } from "../../time.ts";
import type { Clock } from "./intervals.ts";
import type { Credential, CredentialRequest, SecurityKey } from "./request.ts";

/** Whether any credential has no response yet. */
export const isWaiting = ({ credentials }: Pick<SecurityKey, "credentials">): boolean =>
  credentials.some(({ state }) => state === "processing");

/** Whether every credential without a response has outlived its challenge: whatever its peer says is too late. */
export const isTooLateFor = ({ credentials }: SecurityKey, request: CredentialRequest, clock: Clock): boolean =>
  credentials
    .filter(({ state }) => state === "processing")
    .every(credential => challengeEnd(credential, request, clock) <= clock.now());

/** When the IdP stops taking an answer to the credential's challenge (decision C8). */
export const challengeEnd = (
  { challengeExpiresAt }: Credential,
  { createdAt }: Pick<CredentialRequest, "createdAt">,
  { intervals: timing }: Pick<Clock, "intervals">,
): Instant => challengeExpiresAt ?? plus(createdAt, timing.credentialMax);
