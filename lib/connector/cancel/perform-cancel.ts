import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { ConnectorDeps, Loaded } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import { outcome } from "../http/to-result.ts";
import { isWaiting } from "../model/credential.ts";
import { backOff } from "../model/intervals.ts";
import { type CredentialRequest, isOnSite, type Key } from "../model/request.ts";
import { endedWaiting, rolledUp } from "../model/roll-up.ts";
import { isTerminal } from "../model/states.ts";
import { undoAtIdps } from "../recovery/compensate.ts";
import { atRest } from "../store/next-due.ts";
import { leaseOf, type Run, retryAfterLease } from "../store/queue.ts";
import { write } from "../store/save-request.ts";
import { cancelAtDelivery } from "./cancel-at-delivery.ts";
import { cancelEnrollments } from "./cancel-enrollments.ts";

/** Shown with every credential that was cancelled. */
const cancelledByCaller = "The request was cancelled.";

/**
 * Does what a cancel takes, peers first and states last (decision C19): the delivery service deletes the shipment, or nothing is
 * cancelled; the enrollment side cancels what is not enrolled; the IdPs forget what was begun for it. That it is under way is
 * written down before, so that a job goes on after a crash. Returns the request as it now stands.
 */
export async function carryOutCancel(loaded: Loaded, run: Run, deps: ConnectorDeps): Promise<Loaded> {
  let current = await held(loaded, run, {}, deps);
  const { id } = current.request.value;
  const waiting = () => current.keys.map(({ value }) => value).filter(isWaiting);

  const shipped = waiting().filter(key => !isOnSite(key));
  if (shipped.length > 0 && current.request.value.delivery?.shipmentId !== undefined) {
    current = await cancelAtDelivery(current, { hold: held, letGo, run }, deps);
  }
  const onSite = waiting().filter(isOnSite);
  const enrollments = await cancelEnrollments(id, onSite, deps);
  if (enrollments.failure !== undefined) {
    throw await letGo(current, run, { fault: peerFault(enrollments.failure), next: "goes_on" }, deps);
  }
  const keyIds = [...shipped, ...onSite].map(({ id }) => id).filter(keyId => !enrollments.produced.includes(keyId));
  if (keyIds.length === 0) {
    const fault = new Fault("conflict", "Every key of the request has been produced.");
    throw await letGo(current, run, { fault, next: "ends" }, deps);
  }

  current = await held(current, run, {}, deps);
  const begun = waiting().filter(key => keyIds.includes(key.id));
  const undone = await outcome(undoAtIdps(id, begun.map(openPart), deps));
  if ("error" in undone) {
    throw await letGo(current, run, { fault: peerFault(undone.error), next: "goes_on" }, deps);
  }
  const cancelled = await writeCancelled(current, keyIds, deps);
  deps.log.info("request_cancelled", { keys: keyIds.length });
  return cancelled;
}

/** Only what is not produced is undone at its IdP. */
const openPart = (key: Key): Key => ({
  ...key,
  credentials: key.credentials.map(({ handle, ...credential }) =>
    credential.state === "processing" && handle !== undefined ? { ...credential, handle } : credential,
  ),
});

/** Takes or renews the hold right before calls that change something, and has the job come back where this process dies. */
async function held(
  loaded: Loaded,
  run: Run,
  more: Partial<NonNullable<CredentialRequest["cancelling"]>>,
  deps: ConnectorDeps,
): Promise<Loaded> {
  const hold = (request: CredentialRequest): CredentialRequest => {
    const lease = leaseOf(run, deps.now(), deps.timing);
    const before = request.due === undefined ? {} : { before: request.due };
    const cancelling = { ...(request.cancelling ?? before), ...more };
    return { ...request, cancelling, lease, due: { queue: "settle", at: lease.until } };
  };
  const written = await rewritten(loaded, run, hold, deps);
  if (written !== undefined) return written;
  throw new Fault("conflict", "A job is working on the request.", { retryAfter: retryAfterLease });
}

/** @param next `ends`: nothing was cancelled, the request goes on as before; `goes_on`: the job tries again */
async function letGo(
  loaded: Loaded,
  run: Run,
  { fault, next }: { readonly fault: Fault; readonly next: "ends" | "goes_on" },
  deps: ConnectorDeps,
): Promise<Fault> {
  const { now, timing } = deps;
  const released = ({ lease, due, cancelling, ...request }: CredentialRequest): CredentialRequest => {
    if (next === "ends") return { ...request, ...(cancelling?.before && { due: cancelling.before }) };
    const at = plus(now(), backOff(request.attempts, timing.retryMin, timing.retryMax));
    const attempts = request.attempts + 1;
    return { ...request, ...(cancelling && { cancelling }), attempts, due: { queue: "settle", at } };
  };
  const written = await outcome(rewritten(loaded, run, released, deps));
  // The lease ends by itself, and the job goes on then.
  if ("error" in written) deps.log.warn("cancel_not_given_back", { error: written.error });
  return fault;
}

/** The request's row changed, also where a key's job was faster; undefined where it is not held by this run any more. */
async function rewritten(
  loaded: Loaded,
  { owner }: Run,
  change: (request: CredentialRequest) => CredentialRequest,
  deps: ConnectorDeps,
): Promise<Loaded | undefined> {
  let current: Loaded | undefined = loaded;
  while (current !== undefined) {
    const written = await write(current, { request: change(current.request.value) }, deps);
    if (written !== undefined) return written;
    current = await deps.requests.load(loaded.request.value.id);
    if (current?.request.value.lease?.owner !== owner) return undefined;
  }
  return undefined;
}

function peerFault(cause: unknown): Fault {
  if (!(cause instanceof PeerFailure)) return new Fault("internal", "Internal error.", { cause });
  if (cause.kind === "unauthorized")
    return new Fault("internal", `The ${cause.peer} does not accept the connector.`, { cause });
  const message = "A peer does not answer now; the cancel goes on.";
  return new Fault("unavailable", message, { retryAfter: cause.retryAfter ?? 30, cause });
}

/** States last. A row that changed meanwhile is read again: what was cancelled at its peer has not been produced. */
async function writeCancelled(loaded: Loaded, keyIds: readonly string[], deps: ConnectorDeps): Promise<Loaded> {
  const { requests, now } = deps;
  for (
    let current: Loaded | undefined = loaded;
    current !== undefined;
    current = await requests.load(loaded.request.value.id)
  ) {
    const all = current.keys.map(({ value }) => (keyIds.includes(value.id) ? cancelledKey(value, deps) : value));
    const { lease, due, cancelling, ...request } = current.request.value;
    // A job has ended it meanwhile.
    if (cancelling === undefined || isTerminal(request.state)) return current;
    const keys = all.filter(({ id }) => keyIds.includes(id));
    const written = await write(current, { request: rolledUp(request, all, now()), keys }, deps);
    if (written !== undefined) return written;
  }
  throw new Error("the request vanished while it was cancelled");
}

/** A job that holds the key gives it back itself. */
function cancelledKey(key: Key, deps: ConnectorDeps): Key {
  const ended = endedWaiting(key, "cancelled", cancelledByCaller, deps.now());
  return ended.lease === undefined ? atRest(ended, deps) : ended;
}
