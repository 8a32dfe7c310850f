import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevoking, type Revocation } from "../model/credential.ts";
import { idpName } from "../model/peer-names.ts";
import { postpone } from "../model/retry.ts";
import { withCredential } from "../model/security-key.ts";
import type { Step, StepOutcome } from "../runs/step.ts";
import { type CredentialTarget, isRepairable, openIdp } from "./open-idp.ts";

/**
 * Returns the step that removes a credential at its IdP. The revocation is stored already, and a removal may be
 * repeated, so an attempt without an answer has no other record. If the user is stored by name and such an attempt has
 * removed the credential, the next one cannot tell that, and ends the revocation as `revoke_failed`: see
 * `requireUserId`.
 */
export async function revokeCredential(target: CredentialTarget, deps: ConnectorDeps): Promise<Step> {
  const { key, index } = target;
  const { credentialId, registrationId } = key.credentials[index] ?? {};
  if (credentialId === undefined) throw new Error(`credential ${index} of security key ${key.id} has no id`);
  const opened = await openIdp(target, deps);
  if (typeof opened === "string") return notRemoved(target, { lastError: opened, mayPass: true }, deps);
  const { idp, idpState } = opened;
  const timeLimitMs = deps.intervals.idpCallMs;
  return {
    intent: same => same,
    peer: idpName(idp.id),
    timeLimitMs,
    perform: async () => {
      try {
        await idp.revoke(idpState, { credentialId, registrationId }, AbortSignal.timeout(timeLimitMs));
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        deps.log.warn("revocation_failed", { keyId: key.id, index, error });
        const lastError = error.detail ?? error.message;
        const failed = { lastError, retryAfterSeconds: error.retryAfterSeconds, mayPass: isRepairable(error) };
        return { next: () => notRemoved(target, failed, deps), failure: error };
      }
      const revokedAt = deps.now();
      deps.log.info("credential_revoked", { keyId: key.id, index, idp: idp.id });
      const revoked = changed(target, ({ retry: { lastError: _, ...retry }, ...revocation }) => {
        return { ...revocation, state: "revoked", revokedAt, retry };
      });
      return { next: () => revoked };
    },
  };
}

/** After a write whose response was lost, the change is applied again: a revocation that has ended stays as it is. */
const changed = ({ index }: CredentialTarget, change: (revocation: Revocation) => Revocation): StepOutcome => ({
  change: withCredential(index, credential =>
    isRevoking(credential) && credential.revocation !== undefined
      ? { ...credential, revocation: change(credential.revocation) }
      : credential,
  ),
});

interface Failed {
  readonly lastError: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** Whether a later attempt may succeed. */
  readonly mayPass: boolean;
}

/** Returns the outcome of a failed attempt: it is repeated until the period for retries ends. */
function notRemoved(
  target: CredentialTarget,
  { lastError, retryAfterSeconds, mayPass }: Failed,
  { now, intervals, log }: ConnectorDeps,
): StepOutcome {
  const { key, index } = target;
  const at = now();
  const { requestedAt = at } = key.credentials[index]?.revocation ?? {};
  const latest = plus(requestedAt, intervals.retryForMs);
  const hasEnded = !mayPass || latest <= at;
  if (hasEnded) log.error("credential_revoke_failed", { keyId: key.id, index, idp: key.credentials[index]?.idpId });
  return changed(target, ({ retry, ...revocation }) => ({
    ...revocation,
    ...(hasEnded && { state: "revoke_failed" }),
    retry: postpone(retry, at, intervals.retry, { retryAfterSeconds, lastError, ...(!hasEnded && { latest }) }),
  }));
}
