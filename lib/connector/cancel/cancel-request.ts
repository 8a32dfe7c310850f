import { toResult } from "../../platform/async/to-result.ts";
import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { between, plus, seconds } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isWaiting } from "../model/credential.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { isTerminal } from "../model/states.ts";
import { mustDeferKeys, peersInTurn } from "../recovery/peers-in-turn.ts";
import { isLeasedByAnother, type Run, retryAfterLease, startRun } from "../runs/run.ts";
import { loadRequest } from "../storage/change-request.ts";
import { performCancel } from "./perform-cancel.ts";

/**
 * Cancels the security keys of a request that are not produced yet. Those that are produced continue. Cancelling a
 * cancelled request changes nothing (C19). Returns the current request. Throws Fault `not_found`; `conflict` if nothing
 * can be cancelled now; `unavailable` if a peer, storage or Key Vault is not responding, and then the job continues the
 * cancel.
 */
export async function cancelRequest(requestId: string, deps: ConnectorDeps): Promise<LoadedRequest> {
  const loaded = await loadRequest(requestId, deps);
  if (loaded.request.value.state === "cancelled") return loaded;
  const run = startRun("on_demand", deps);
  requireCancellable(loaded, run, deps);
  return withLogFields({ credentialRequestId: requestId }, async () => {
    try {
      return await performCancel(loaded, run, deps);
    } catch (error) {
      // A part may be cancelled, and a job may complete the rest: this event names the caller.
      deps.log.warn("cancel_not_done", { error });
      throw error;
    }
  });
}

function requireCancellable({ request: { value: request }, keys }: LoadedRequest, run: Run, deps: ConnectorDeps): void {
  const { now, intervals } = deps;
  const conflict = (message: string, retryAfterMs?: number) =>
    new Fault("conflict", message, retryAfterMs === undefined ? {} : { retryAfter: retryAfterMs / 1000 });
  const { delivery, lease, state } = request;
  if (isTerminal(state)) throw conflict("The request has ended.");
  if (lease !== undefined && isLeasedByAnother(lease, run, now()))
    throw conflict("A job or another cancel is working on the request.", seconds(retryAfterLease));
  if (state === "received") {
    if (delivery?.sentAt !== undefined) throw conflict("It is not known yet whether the shipment was ordered.");
    const createEndsAt = plus(request.createdAt, intervals.receivedMaxAgeMs);
    if (createEndsAt > now()) throw conflict("The request is still being created.", between(now(), createEndsAt));
  }
  // A shipment that was found by look-up may belong to another request until a response opens with our response keys.
  if (delivery?.shipment?.tentative === true) throw conflict("The shipment is not confirmed to be of this request.");
  if (!keys.some(({ value }) => isWaiting(value))) throw conflict("Every key of the request has been produced.");
}

/** Continues an interrupted cancel in a job. Returns whether it was deferred to a later run. */
export async function resumeCancel(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<boolean> {
  if (isLeasedByAnother(loaded.request.value.lease, run, deps.now())) return false;
  if (mustDeferKeys(securityKeysOf(loaded), run, deps)) return true;
  // The cancel takes its lease after this time, and renews it.
  const leaseUntil = plus(deps.now(), deps.intervals.leaseMs);
  const inTurn = peersInTurn(deps, leaseUntil, run, deps);
  const ended = await toResult(performCancel(loaded, run, { ...deps, ...inTurn }));
  if ("value" in ended) return false;
  if (!(ended.error instanceof Fault)) throw ended.error;
  deps.log.warn("cancel_not_done", { error: ended.error });
  return false;
}
