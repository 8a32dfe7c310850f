import { Fault } from "../../fault.ts";
import { withLogFields } from "../../log.ts";
import { between, plus, seconds } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { toResult } from "../http/to-result.ts";
import { isWaiting } from "../model/credential.ts";
import { isTerminal } from "../model/states.ts";
import { isLeasedByAnother, type Run, retryAfterLease, startRun } from "../store/queue.ts";
import { performCancel } from "./perform-cancel.ts";

/**
 * Cancels what of a request is not produced yet (decision C19); keys that are produced go on. Cancelling again what was cancelled
 * changes nothing. Returns the request as it now stands.
 * Throws Fault: `not_found`; `conflict` where nothing can be cancelled any more or yet; `unavailable` where a peer does not answer, in
 * which case the job goes on with what was begun.
 */
export async function cancelRequest(requestId: string, deps: ConnectorDeps): Promise<LoadedRequest> {
  const loaded = await deps.requests.load(requestId);
  if (loaded === undefined) throw new Fault("not_found", "There is no such credential request.");
  if (loaded.request.value.state === "cancelled") return loaded;
  const run = startRun("on_demand", deps);
  requireCancellable(loaded, run, deps);
  return withLogFields({ credentialRequestId: requestId }, () => performCancel(loaded, run, deps));
}

function requireCancellable({ request: { value: request }, keys }: LoadedRequest, run: Run, deps: ConnectorDeps): void {
  const { now, intervals: timing } = deps;
  const conflict = (message: string, retryAfterMs?: number) =>
    new Fault("conflict", message, retryAfterMs === undefined ? {} : { retryAfter: retryAfterMs / 1000 });
  const { delivery, lease, state } = request;
  if (isTerminal(state)) throw conflict("The request has ended.");
  if (lease !== undefined && isLeasedByAnother(lease, run, now()))
    throw conflict("A job is working on the request.", seconds(retryAfterLease));
  if (state === "received") {
    if (delivery?.sentAt !== undefined) throw conflict("It is not known yet whether the shipment was ordered.");
    const creatorEnds = plus(request.createdAt, timing.receivedMaxAge);
    if (creatorEnds > now()) throw conflict("The request is still being made.", between(now(), creatorEnds));
  }
  // What was found by look-up may be another's until a response has opened with this request's keys (decision C6).
  if (delivery?.tentative === true) throw conflict("The shipment is not confirmed to be of this request.");
  if (!keys.some(({ value }) => isWaiting(value))) throw conflict("Every key of the request has been produced.");
}

/** Goes on with a cancel that was cut off, as a job. */
export async function resumeCancel(loaded: LoadedRequest, run: Run, deps: ConnectorDeps): Promise<void> {
  if (isLeasedByAnother(loaded.request.value.lease, run, deps.now())) return;
  const ended = await toResult(performCancel(loaded, run, deps));
  if ("value" in ended) return;
  if (!(ended.error instanceof Fault)) throw ended.error;
  deps.log.warn("cancel_not_done", { error: ended.error });
}
