import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { Clock } from "./intervals.ts";
import { type CredentialRequest, callerSchema } from "./request.ts";
import { type Retry, retrySchema } from "./retry.ts";
import { credentialStates, revocationReasons, revocationStates, type shownCredentialStates } from "./states.ts";

const text = z.string();

/** A credential on a security key, in its row. */
export const credentialSchema = z.lazy(() =>
  z.object({
    idpId: text,
    /** The value of the caller, later that of the IdP's creation options. */
    relyingPartyId: text.exactOptional(),
    userId: text,
    state: z.enum(credentialStates),
    /** Why it ended, or why its response cannot be used. The reason for a further attempt is in `retry`. */
    errorMessage: text.exactOptional(),
    /** The state that the IdP needs to activate, read back and compensate, sealed. */
    idpState: text.exactOptional(),
    /** The values of a challenge that its response must match. The challenge itself is not stored. */
    binding: z
      .object({
        /** base64url SHA-256 of the challenge's bytes. */
        challengeHash: text,
        origin: text,
        relyingPartyId: text,
        /** Whether the options require user verification, that is a PIN. */
        userVerification: z.boolean(),
      })
      .exactOptional(),
    challengeExpiresAt: storedInstant.exactOptional(),
    /** The private response key, sealed. */
    responseKey: text.exactOptional(),
    credentialId: text.exactOptional(),
    /** The model of the authenticator, as a UUID. Absent if the authenticator does not disclose it. */
    aaguid: text.exactOptional(),
    /** When the IdP was known to have registered it. */
    activatedAt: storedInstant.exactOptional(),
    retryableUntil: storedInstant.exactOptional(),
    /**
     * Set before an activation is sent, removed if it was certainly not done. While set, the credential is read back
     * before the next attempt. A restored credential without a response counts as attempted too.
     */
    triedAt: storedInstant.exactOptional(),
    /** A refusal of the activation. It is accepted only after a read-back. */
    refusal: z.object({ at: storedInstant, reason: text }).exactOptional(),
    /** The attempts to activate it, from its response to its end. */
    retry: retrySchema.exactOptional(),
    /** The id under which the IdP lists it, if that follows neither from the credential id nor from the IdP state. */
    registrationId: text.exactOptional(),
    /**
     * Whether it has ended without an activation although its IdP may have registered it. Removed by a revocation, or
     * when a person has checked that the IdP does not have it.
     */
    mayBeRegistered: z.boolean().exactOptional(),
    /** The removal at its IdP of a credential that is active or may be. */
    revocation: z
      .object({
        state: z.enum(revocationStates),
        reason: z.enum(revocationReasons),
        /** Who asked for it. Absent if a job did. */
        requestedBy: callerSchema.exactOptional(),
        requestedAt: storedInstant,
        revokedAt: storedInstant.exactOptional(),
        /** Whether an attempt found the credential at the IdP, and its removal was not answered. */
        mayBeRemoved: z.boolean().exactOptional(),
        /** The attempts. They are kept when it has ended. */
        retry: retrySchema,
      })
      .exactOptional(),
  }),
);
export type Credential = Immutable<z.output<typeof credentialSchema>>;
export type Revocation = NonNullable<Credential["revocation"]>;

/**
 * Whether the credential can be used now or later: not after its end, and not once its revocation was asked for, unless
 * that failed.
 */
export const isUsable = ({ state, revocation }: Credential): boolean =>
  state !== "failed" && state !== "cancelled" && (revocation === undefined || revocation.state === "revoke_failed");

/**
 * Whether the credential can be revoked: its IdP has registered it, or may have, and no revocation is in progress or
 * done. One that may be registered and has no id is left to a person.
 */
export const isRevocable = (credential: Credential): boolean =>
  (credential.state === "active" && isUsable(credential)) ||
  (credential.mayBeRegistered === true && credential.credentialId !== undefined && !isRevoking(credential));

/**
 * Returns why a user may sign in with the credentials after their request is deleted; undefined if no revocation is
 * missing.
 */
export function whyStillUsable(credentials: readonly Credential[]): string | undefined {
  if (credentials.some(each => each.state === "active" && isUsable(each)))
    return "The request has active credentials: revoke them or offboard the person first.";
  // A restored one without a response is in doubt at its end.
  const isRestored = ({ state, triedAt }: Credential) => state === "processing" && triedAt !== undefined;
  return credentials.some(each => each.mayBeRegistered || isRestored(each))
    ? "A credential of the request may have been registered: offboard the person first."
    : undefined;
}

/** Returns the state of a credential in reads: that of its revocation, if there is one. */
export const shownState = ({ state, revocation }: Credential): (typeof shownCredentialStates)[number] =>
  revocation?.state ?? state;

/** Whether the credential is still to be removed at its IdP. */
export const isRevoking = ({ revocation }: Credential): boolean => revocation?.state === "revoking";

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
export function credentialMessage(
  { state, errorMessage, retry, mayBeRegistered }: Credential,
  { enrollment }: { readonly enrollment?: Retry },
): string | undefined {
  const reason = errorMessage ?? retry?.lastError ?? (state === "processing" ? enrollment?.lastError : undefined);
  return mayBeRegistered
    ? `It may have been registered: check at the identity provider. ${reason ?? ""}`.trim()
    : reason;
}
