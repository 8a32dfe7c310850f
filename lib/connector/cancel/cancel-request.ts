import pLimit from "p-limit";
import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { cancelFault } from "../faults.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { releaseLease, withPollDue } from "../model/next-due.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import { isAborted } from "../model/request.ts";
import { endWaiting, rolledUp } from "../model/roll-up.ts";
import { enrollmentId, isOnSite, isWaiting, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";
import { callsInTurn } from "../recovery/calls-in-turn.ts";
import { atOnce, compensateAtIdps, type MakeCall } from "../recovery/compensate.ts";
import { loadRequest, saveChanges } from "../runs/change-request.ts";
import { isLeasedByAnother, type Run, startRun } from "../runs/run.ts";
import { cancelAtDelivery } from "./cancel-at-delivery.ts";
import { cancelWork, requestBusyFault } from "./cancel-work.ts";

/**
 * Cancels the security keys of a request that are not produced yet. Those that are produced continue. Cancelling a
 * cancelled request changes nothing (C19). Returns the current request. Throws Fault `not_found`; `conflict` if nothing
 * can be cancelled now; `unavailable` if a peer, storage or Key Vault is not responding, and then the job continues the
 * cancel.
 */
export async function cancelRequest(requestId: string, deps: ConnectorDeps): Promise<LoadedRequest> {
  const loaded = await loadRequest(requestId, deps);
  if (loaded.request.state === "cancelled") return loaded;
  const run = startRun("on_demand", deps);
  requireCancellable(loaded, run);
  return withLogFields({ credentialRequestId: requestId }, async () => {
    try {
      return await performCancel(loaded, run);
    } catch (error) {
      // A part may be cancelled, and a job may complete the rest: this event names the caller.
      deps.log.warn("cancel_not_done", { error });
      throw error;
    }
  });
}

function requireCancellable({ request, keys }: LoadedRequest, run: Run): void {
  const { now, intervals } = run;
  const conflict = (message: string, details?: { readonly retryAfterSeconds: number }) =>
    new Fault("conflict", message, details);
  const { delivery, lease, state } = request;
  if (isTerminal(state)) throw conflict("The request has ended.");
  if (isLeasedByAnother(lease, run)) throw requestBusyFault(lease, run);
  if (state === "received") {
    if (delivery?.sentAt !== undefined) throw conflict("It is not known yet whether the shipment was ordered.");
    const retryAfterMs = between(now(), plus(request.createdAt, intervals.receivedMaxAgeMs));
    // What a create began may still appear at its peers after it was aborted: a job looks for that then.
    if (retryAfterMs > 0)
      throw conflict(isAborted(request) ? abortedMessage : "The request is still being created.", {
        retryAfterSeconds: retryAfterMs / 1000,
      });
  }
  // A shipment that was found by look-up may belong to another request until a response opens with our response keys.
  if (delivery?.shipment?.tentative === true) throw conflict("The shipment is not confirmed to be of this request.");
  if (!keys.some(isWaiting)) throw allProduced();
}

const abortedMessage =
  "The create of the request has failed, and a job reverts it. The request ends by itself, or is cancelled later.";

const allProduced = () => new Fault("conflict", "Every key of the request has been produced.");

/** Continues an interrupted cancel in a job. */
export async function resumeCancel(loaded: LoadedRequest, run: Run): Promise<void> {
  if (isLeasedByAnother(loaded.request.lease, run)) return;
  // The cancel takes its lease after this time, and renews it.
  const leaseUntil = plus(run.now(), run.intervals.leaseMs);
  const ended = await toResult(performCancel(loaded, { ...run, makeCall: callsInTurn(leaseUntil, run) }));
  if ("value" in ended) return;
  if (!(ended.error instanceof Fault)) throw ended.error;
  run.log.warn("cancel_not_done", { error: ended.error });
}

/** A run of a cancel. `makeCall` is absent if each call is made at once. */
type CancelRun = Run & { readonly makeCall?: MakeCall };

/**
 * Cancels a request at its peers first and in its rows last: deletes the shipment, cancels authenticators that are not
 * enrolled, and compensates at the IdPs. If the shipment cannot be deleted, nothing is cancelled. The cancel is
 * recorded before the first call, so that a job continues it after a crash (C19). Returns the current request. Throws
 * Fault `conflict`, `unavailable` or `internal`.
 */
async function performCancel(loaded: LoadedRequest, run: CancelRun): Promise<LoadedRequest> {
  const work = cancelWork(loaded, run);
  const { id } = loaded.request;
  await work.renewLease();
  const shipped = work.loaded.keys.filter(key => isWaiting(key) && !isOnSite(key));
  if (shipped.length > 0 && work.loaded.request.delivery?.shipment !== undefined) await cancelAtDelivery(work, run);
  const onSite = work.loaded.keys.filter(key => isWaiting(key) && isOnSite(key));
  const { cancelled, failure } = await cancelEnrollments(id, onSite, run);
  if (failure !== undefined) throw await work.resumeLater(cancelFault(failure));
  const keyIds = [...shipped.map(key => key.id), ...cancelled];
  if (keyIds.length === 0) throw await work.drop(allProduced());

  await work.renewLease();
  const cancellable = work.loaded.keys.filter(key => isWaiting(key) && keyIds.includes(key.id));
  const compensated = await toResult(compensateAtIdps(id, cancellable, run));
  if ("error" in compensated) throw await work.resumeLater(cancelFault(compensated.error));
  const ended = await writeCancelled(work.loaded, keyIds, run);
  run.log.info("request_cancelled", { keys: keyIds.length });
  return ended;
}

/** Writes the cancelled states, and retries a conflict: keys that were cancelled at their peer are never produced. */
async function writeCancelled(
  loaded: LoadedRequest,
  keyIds: readonly string[],
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  let ended: LoadedRequest | undefined;
  const changed = (current: LoadedRequest): Changes | undefined => {
    const all = current.keys.map(key => (keyIds.includes(key.id) ? cancelledKey(key, deps) : key));
    const cancelled = all.filter(({ id }) => keyIds.includes(id));
    const { lease, due, cancelling, ...before } = current.request;
    // A job has ended the request meanwhile.
    if (cancelling === undefined || isTerminal(before.state)) {
      ended = current;
      return undefined;
    }
    const request = rolledUp(before, all, deps.now());
    if (request.state !== "received") return { request, keys: cancelled };
    // Its create was interrupted, so no job polls the authenticators that were enrolled meanwhile.
    const started = { ...request, state: startRequest(request.state) };
    return { request: started, keys: [...cancelled, ...withPollDue(all, deps)] };
  };
  const written = (await saveChanges(loaded, changed, deps)) ?? ended;
  if (written === undefined) throw new Error("the request was removed while it was cancelled");
  return written;
}

/** Returns the cancelled security key. If a job has the lease on it, that job releases it. */
function cancelledKey(key: SecurityKey, deps: ConnectorDeps): SecurityKey {
  const ended = endWaiting(key, "cancelled", "The request was cancelled.", deps.now());
  return ended.lease === undefined ? releaseLease(ended, deps) : ended;
}

/**
 * Cancels authenticators at the pre-registration API (C12). An authenticator that is unknown there counts as cancelled,
 * and so do all if the deployment no longer has the API, which is logged. May be repeated. Returns the ids of those
 * that were not already enrolled, and the first failure.
 */
async function cancelEnrollments(
  requestId: string,
  keys: readonly SecurityKey[],
  { rfpr, concurrency, log, intervals, makeCall = atOnce }: CancelRun,
): Promise<{ readonly cancelled: readonly string[]; readonly failure: PeerFailure | undefined }> {
  const ids = keys.map(({ id }) => id);
  if (rfpr === undefined) {
    if (keys.length > 0) log.warn("authenticators_left", { count: keys.length });
    return { cancelled: ids, failure: undefined };
  }
  const limit = pLimit(concurrency);
  const cancel = async (id: string) => {
    const call = () => rfpr.cancel(enrollmentId(requestId, id));
    const error = await orFailure(makeCall(preRegistrationApi, intervals.enrollmentCallMs, call));
    return error instanceof PeerFailure && !isUnknown(error) ? error : undefined;
  };
  const failures = await Promise.all(ids.map(id => limit(cancel, id)));
  const isProduced = (error: PeerFailure | undefined) => error?.status === 409;
  return {
    cancelled: ids.filter((_, index) => !isProduced(failures[index])),
    failure: failures.find(error => error !== undefined && !isProduced(error)),
  };
}

/** Whether the service itself, and not a proxy, answered that it does not know the authenticator. */
const isUnknown = ({ status, code }: PeerFailure): boolean => (status === 404 || status === 410) && code !== undefined;
