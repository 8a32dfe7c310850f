import { toResult } from "../../platform/async/to-result.ts";
import { Fault } from "../../platform/fault.ts";
import type { ConnectorDeps } from "../deps.ts";
import { cancelFault } from "../faults.ts";
import { isWaiting } from "../model/credential.ts";
import { type Changes, type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { releaseLease, withPollDue } from "../model/next-due.ts";
import { endWaiting, rolledUp } from "../model/roll-up.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { isTerminal, startRequest } from "../model/states.ts";
import { compensateAtIdps } from "../recovery/compensate.ts";
import type { Run } from "../runs/run.ts";
import { saveChanges } from "../storage/change-request.ts";
import { cancelAtDelivery } from "./cancel-at-delivery.ts";
import { cancelEnrollments } from "./cancel-enrollments.ts";
import { endCancelRun, renewCancelLease } from "./cancel-lease.ts";

/** The `error_message` of cancelled credentials. */
const cancelledByCaller = "The request was cancelled.";

/**
 * Cancels a request at its peers first and in its rows last: deletes the shipment, cancels authenticators that are not
 * enrolled, and compensates at the IdPs. If the shipment cannot be deleted, nothing is cancelled. The cancel is
 * recorded before the first call, so that a job continues it after a crash (C19). Returns the current request. Throws
 * Fault `conflict`, `unavailable` or `internal`.
 */
export async function performCancel(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<LoadedRequest> {
  let current = await renewCancelLease(loaded, run, {}, deps);
  const { id } = current.request.value;
  const waiting = () => securityKeysOf(current).filter(isWaiting);

  const shipped = waiting().filter(key => !isOnSite(key));
  if (shipped.length > 0 && current.request.value.delivery?.shipment !== undefined) {
    current = await cancelAtDelivery(current, run, deps);
  }
  const onSite = waiting().filter(isOnSite);
  const enrollments = await cancelEnrollments(id, onSite, deps);
  if (enrollments.failure !== undefined) {
    throw await endCancelRun(current, run, { fault: cancelFault(enrollments.failure), fate: "resumed" }, deps);
  }
  const keyIds = [...shipped, ...onSite].map(({ id }) => id).filter(keyId => !enrollments.produced.includes(keyId));
  if (keyIds.length === 0) {
    const fault = new Fault("conflict", "Every key of the request has been produced.");
    throw await endCancelRun(current, run, { fault, fate: "dropped" }, deps);
  }

  current = await renewCancelLease(current, run, {}, deps);
  const cancellable = waiting().filter(key => keyIds.includes(key.id));
  const compensated = await toResult(compensateAtIdps(id, cancellable, deps));
  if ("error" in compensated) {
    throw await endCancelRun(current, run, { fault: cancelFault(compensated.error), fate: "resumed" }, deps);
  }
  const cancelled = await writeCancelled(current, keyIds, deps);
  deps.log.info("request_cancelled", { keys: keyIds.length });
  return cancelled;
}

/** Writes the cancelled states, and retries a conflict: keys that were cancelled at their peer are never produced. */
async function writeCancelled(
  loaded: LoadedRequest,
  keyIds: readonly string[],
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  let ended: LoadedRequest | undefined;
  const changed = (current: LoadedRequest): Changes | undefined => {
    const all = securityKeysOf(current).map(key => (keyIds.includes(key.id) ? cancelledKey(key, deps) : key));
    const cancelled = all.filter(({ id }) => keyIds.includes(id));
    const { lease, due, cancelling, ...before } = current.request.value;
    // A job has ended the request meanwhile.
    if (cancelling === undefined || isTerminal(before.state)) {
      ended = current;
      return undefined;
    }
    const request = rolledUp(before, all, deps.now());
    if (request.state !== "received") return { request, keys: cancelled };
    // Its create was interrupted, so no job polls the authenticators that were enrolled meanwhile.
    return {
      request: { ...request, state: startRequest(request.state) },
      keys: [...cancelled, ...withPollDue(all, deps)],
    };
  };
  const written = (await saveChanges(loaded, changed, deps)) ?? ended;
  if (written === undefined) throw new Error("the request was removed while it was cancelled");
  return written;
}

/** Returns the cancelled security key. If a job has the lease on it, that job releases it. */
function cancelledKey(key: SecurityKey, deps: ConnectorDeps): SecurityKey {
  const ended = endWaiting(key, "cancelled", cancelledByCaller, deps.now());
  return ended.lease === undefined ? releaseLease(ended, deps) : ended;
}
