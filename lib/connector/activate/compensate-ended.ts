import { PeerFailure } from "../../platform/peer-failure.ts";
import { pollAgain } from "../collect/poll-authenticator.ts";
import { idpName } from "../model/peer-names.ts";
import { isTooLateFor } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import { compensateAtIdp } from "../recovery/compensate.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { type NotCalled, notCalled } from "../runs/run.ts";

/**
 * Removes the registration that an IdP began for a credential that ends: otherwise it would use up the user's limit
 * there. Returns the failure of the IdP. An IdP that keeps no state is not called.
 */
export async function compensateCredential(work: KeyWork, index: number): Promise<PeerFailure | NotCalled | undefined> {
  const { loaded, key, run } = work;
  const idpId = key.credentials[index]?.idpId ?? "";
  if (run.idps.get(idpId)?.compensateUnanswered === undefined) return undefined;
  const call = { peer: idpName(idpId), timeLimitMs: run.intervals.idpCallMs };
  const result = await work.call(call, async () => {
    await compensateAtIdp(loaded.request.id, key, index, run);
    return undefined;
  });
  if (result instanceof PeerFailure) run.log.warn("compensation_failed", { error: result });
  return result;
}

/**
 * Compensates at the IdPs for the credentials that the poll of an authenticator ends, and returns the change to save:
 * that of the poll; another poll if an IdP is not responding; undefined if it was not called. After the end of the
 * challenges, or if another credential of the authenticator waits for its activation, the end waits for no IdP.
 */
export async function compensateEnded(work: KeyWork, polled: KeyChange): Promise<KeyChange | undefined> {
  const { key, run } = work;
  const { request } = work.loaded;
  const after = polled(key, request).credentials;
  const mayWait = !isTooLateFor(key, request, run) && !after.some(({ state }) => state === "activation_pending");
  for (const [index, { idpId, state }] of key.credentials.entries()) {
    if (state !== "processing" || !isTerminal(after[index]?.state ?? state)) continue;
    const failure = await compensateCredential(work, index);
    if (failure === notCalled && (mayWait || !work.canBegin)) return undefined;
    if (failure instanceof PeerFailure && failure.isTransient && mayWait) {
      const lastError = `The enrollment has ended. What ${idpId} began for it will be removed when ${idpId} answers.`;
      return pollAgain(run, { lastError, retryAfterSeconds: failure.retryAfterSeconds });
    }
  }
  return polled;
}
