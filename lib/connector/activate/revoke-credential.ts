import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import { removalCall } from "../idp/contract.ts";
import { type Credential, isRevoking, type Revocation } from "../model/credential.ts";
import { idpName } from "../model/peer-names.ts";
import { postpone } from "../model/retry.ts";
import { revoked } from "../model/revocation.ts";
import { withCredential } from "../model/security-key.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { notCalled } from "../runs/run.ts";
import { isRepairable, openIdp } from "./open-idp.ts";

/**
 * Removes a credential at its IdP. The revocation is stored already, and a removal may be repeated. An attempt that
 * found the credential and whose removal was not answered is recorded after it (`keyToRevoke`).
 */
export async function revokeCredential(work: KeyWork, index: number): Promise<KeyChange | undefined> {
  const { key, run } = work;
  const { credentialId, registrationId, revocation } = key.credentials[index] ?? {};
  if (credentialId === undefined) throw new Error(`credential ${index} of security key ${key.id} has no id`);
  const opened = await openIdp(work, index);
  if (typeof opened === "string") return notRemoved(work, index, { lastError: opened, mayPass: true });
  const { idp, idpState } = opened;
  const timeLimitMs = run.intervals.idpCallMs;
  const failure = await work.call({ peer: idpName(idp.id), timeLimitMs }, async () => {
    const credential = { credentialId, registrationId, mayBeRemoved: revocation?.mayBeRemoved };
    await idp.revoke(idpState, credential, AbortSignal.timeout(timeLimitMs));
    return undefined;
  });
  if (failure === notCalled) return undefined;
  if (failure instanceof PeerFailure) {
    run.log.warn("revocation_failed", { keyId: key.id, index, error: failure });
    const { retryAfterSeconds } = failure;
    const lastError = failure.detail ?? failure.message;
    const mayBeRemoved = failure.operation === removalCall && failure.mayBeDone;
    return notRemoved(work, index, { lastError, retryAfterSeconds, mayBeRemoved, mayPass: isRepairable(failure) });
  }
  const revokedAt = run.now();
  run.log.info("credential_revoked", { keyId: key.id, index, idp: idp.id });
  return changed(index, (revocation, credential) => revoked(credential, revocation, revokedAt));
}

/** After a write whose response was lost, the change is applied again: a revocation that has ended stays as it is. */
const changed = (index: number, change: (revocation: Revocation, credential: Credential) => Credential): KeyChange =>
  withCredential(index, credential =>
    isRevoking(credential) && credential.revocation !== undefined
      ? change(credential.revocation, credential)
      : credential,
  );

interface Failed {
  readonly lastError: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  readonly mayBeRemoved?: boolean;
  /** Whether a later attempt may succeed. */
  readonly mayPass: boolean;
}

/** Returns the change after a failed attempt: it is repeated until the period for retries ends. */
function notRemoved(
  { key, run: { now, intervals, log } }: KeyWork,
  index: number,
  { lastError, retryAfterSeconds, mayBeRemoved, mayPass }: Failed,
): KeyChange {
  const at = now();
  const { idpId: idp, revocation } = key.credentials[index] ?? {};
  const latest = plus(revocation?.requestedAt ?? at, intervals.retryForMs);
  const hasEnded = !mayPass || latest <= at;
  if (hasEnded) log.error("credential_revoke_failed", { keyId: key.id, index, idp });
  return changed(index, ({ retry, ...revocation }, credential) => ({
    ...credential,
    revocation: {
      ...revocation,
      ...(hasEnded && { state: "revoke_failed" }),
      ...(mayBeRemoved && { mayBeRemoved }),
      retry: postpone(retry, at, intervals.retry, { retryAfterSeconds, lastError, ...(!hasEnded && { latest }) }),
    },
  }));
}
