import { activateCredential } from "../activate/activate-credential.ts";
import { compensateEnded } from "../activate/compensate-ended.ts";
import { revokeCredential } from "../activate/revoke-credential.ts";
import { pollAuthenticator } from "../collect/poll-authenticator.ts";
import { removeResponsesIfDeleted } from "../collect/save-poll.ts";
import { isRevoking } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import { isSameDue } from "../model/request.ts";
import type { Retry } from "../model/retry.ts";
import { isWaiting, type SecurityKey } from "../model/security-key.ts";
import { measureUnsentMail } from "../pin/mail-outcomes.ts";
import { sendPinMail } from "../pin/send-pin-mail.ts";
import { type KeyWork, keyWork } from "../runs/key-work.ts";
import { forEachDue, logAndContinue } from "../runs/queue.ts";
import { isDue, isLeasedByAnother, isPastDeadline, type Run } from "../runs/run.ts";

/** Returns the counts of a run, by the state of the credentials that it has processed. */
export const newKeyCounts = () => ({ processed: 0, activated: 0, failed: 0, pending: 0 });

type KeyCounts = ReturnType<typeof newKeyCounts>;

/**
 * Processes the due security keys of a queue: polls authenticators, revokes and activates credentials and sends PIN
 * emails. Returns the number of requests that were deferred or not finished, because the time of the run ended or a
 * peer was not to be called.
 */
export const processSecurityKeys = (queue: "key" | "shipment_key", run: Run, counts: KeyCounts): Promise<number> =>
  forEachDue(queue, run, async (start, entries) => {
    let loaded = start;
    let hasDeferred = false;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      if (isPastDeadline(run)) return true;
      try {
        const result = await processSecurityKey(loaded, keyId, run, counts);
        loaded = result.loaded;
        hasDeferred ||= result.isDeferred;
      } catch (error) {
        logAndContinue(error, { queue, run: run.owner, keyId }, run);
        loaded = (await run.requests.load(loaded.request.id)) ?? loaded;
      }
    }
    return hasDeferred;
  });

/**
 * Does the due work of one security key: polls a waiting authenticator, revokes and activates credentials one after
 * another in array order, and sends the PIN email. A credential that must wait, or whose IdP must not be called, does
 * not delay the next one. Stops if the lease is lost. When the time of the run is over, no further operation begins,
 * and one that has begun makes no call unless it has stored an intent.
 * @param counts counts the credentials that were processed
 */
export async function processSecurityKey(
  start: LoadedRequest,
  keyId: string,
  run: Run,
  counts = newKeyCounts(),
): Promise<Pick<KeyWork, "loaded" | "isDeferred">> {
  const work = keyWork(start, keyId, run);
  if (!isLeasedByAnother(work.key.lease, run)) {
    countCredentials(counts, await doDueWork(work), work);
    const { key } = work;
    // Another process stopped while it had the lease, and a cancel ended the work: only this run can remove the key
    // from the queue.
    const isLeft = work.loaded === start && !isSameDue(releaseLease(key, run).due, key.due);
    if (key.lease?.owner === run.owner || isLeft) await work.finish(same => same);
  }
  measureUnsentMail(work.key, run.now());
  return work;
}

/** Does the due work until the lease is lost. Returns the positions of the credentials that were polled or tried. */
async function doDueWork(work: KeyWork): Promise<ReadonlySet<number>> {
  const { run } = work;
  const processed = new Set<number>();
  const isMailDue = ({ mail }: SecurityKey) => mail.state === "due" && isRetryDue(mail.retry, run);

  const { enrollment, credentials } = work.key;
  if (enrollment !== undefined && isWaiting(work.key) && isRetryDue(enrollment, run)) {
    const polled = await pollAuthenticator(work);
    const change = polled && (await compensateEnded(work, polled));
    if (await work.finish(change, key => dueCredentials(key, run).length > 0 || isMailDue(key)))
      for (const [index, { state }] of credentials.entries()) if (state === "processing") processed.add(index);
    if (work.hasLostLease) await removeResponsesIfDeleted(work.loaded.request.id, run);
  }
  const due = dueCredentials(work.key, run);
  for (const { index, operation } of due) {
    const isMoreDue = (key: SecurityKey) => index !== due.at(-1)?.index || isMailDue(key);
    const isDone = await work.finish(work.canBegin ? await operation(work, index) : undefined, isMoreDue);
    if (isDone && operation === activateCredential) processed.add(index);
  }
  if (isMailDue(work.key)) await work.finish(work.canBegin ? await sendPinMail(work) : undefined);
  return processed;
}

/** Returns the due credentials with their operations: revocations first, because a lost key may be misused. */
function dueCredentials({ credentials }: SecurityKey, run: Run) {
  const all = [...credentials.entries()];
  const revocations = all
    .filter(([, credential]) => isRevoking(credential) && isRetryDue(credential.revocation?.retry, run))
    .map(([index]) => ({ index, operation: revokeCredential }));
  const activations = all
    .filter(([, credential]) => credential.state === "activation_pending" && isRetryDue(credential.retry, run))
    .map(([index]) => ({ index, operation: activateCredential }));
  return [...revocations, ...activations];
}

const isRetryDue = (retry: Retry | undefined, run: Run): boolean =>
  retry === undefined || isDue({ ...retry, at: retry.nextAt }, run);

function countCredentials(counts: KeyCounts, processed: ReadonlySet<number>, { key }: KeyWork): void {
  counts.processed += processed.size;
  for (const index of processed) {
    const state = key.credentials[index]?.state;
    if (state === "active") counts.activated++;
    else if (state === "failed") counts.failed++;
    else if (state === "activation_pending" || state === "processing") counts.pending++;
  }
}
