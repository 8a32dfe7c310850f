import { Fault, type Problem } from "../fault.ts";
import { type Instant, plus } from "../time.ts";
import { askIdps, type Challenges, idpFault, idpProblems, undoAtIdps } from "./ask-idps.ts";
import { deliveryLimitViolation } from "./delivery-limits.ts";
import { failRequest, withoutMark } from "./end-request.ts";
import { type NewRequest, newRequestId, received } from "./new-request.ts";
import { orderOf } from "./order.ts";
import { PeerFailure } from "./peers/peer-failure.ts";
import { pinMailProblems } from "./pin-mail-domains.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { type KeyOrder, prepareKey } from "./prepare-keys.ts";
import type { Due, Key, Origin } from "./request.ts";
import { unconfirmed } from "./settle.ts";
import { startRequest } from "./states.ts";
import { write } from "./write.ts";

export interface Created {
  readonly requestId: string;
  readonly shipmentId?: string;
}

/**
 * Takes a credential request under a new id: checks it, then creates it.
 * Throws Fault as `checkRequest` and `createUnder` do.
 */
export async function createRequest(
  draft: NewRequest,
  { origin }: { origin: Origin },
  deps: ConnectorDeps,
): Promise<Created> {
  checkRequest(draft, deps);
  return createUnder(newRequestId(deps.random), draft, { origin }, deps);
}

/**
 * Every check that needs nobody else and stores nothing (decision C5).
 * Throws Fault: `invalid`, `delivery_refused`.
 */
export function checkRequest(draft: NewRequest, deps: Pick<ConnectorDeps, "idps" | "pinMailDomains">): void {
  const problems = [
    ...enrollmentProblems(draft),
    ...idpProblems(draft, deps.idps),
    ...pinMailProblems(draft.emailsTo, deps.pinMailDomains),
  ];
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
  const violation = deliveryLimitViolation(draft);
  if (violation !== undefined) {
    throw new Fault("delivery_refused", violation.message, {
      data: { code: violation.code, message: violation.message },
    });
  }
}

/**
 * Creates a checked request under an id chosen beforehand (decision C6): stores it, asks the IdPs, marks it, orders the shipment
 * last because that can not be taken back. Every step leaves a row from which the job can tell what may have happened.
 * Throws Fault: `idp_refused`, `delivery_refused`, `unavailable`, `internal`.
 */
export async function createUnder(
  id: string,
  draft: NewRequest,
  { origin }: { origin: Origin },
  deps: ConnectorDeps,
): Promise<Created> {
  const { now, timing, requests, idps } = deps;
  const rows = received(draft, {
    id,
    origin,
    now: now(),
    receivedMaxAge: timing.receivedMaxAge,
    defaultIdp: idps.defaultId,
  });
  if (rows.request.due !== undefined) await requests.schedule(rows.request.due, id);
  const stored = await requests.insert(rows.request, rows.keys);
  return order(await mark(stored, deps), deps);
}

/** On-site authenticators need an enrollment service. */
const enrollmentProblems = ({ keys }: NewRequest): readonly Problem[] =>
  keys.some(({ place }) => place === "authenticator")
    ? [{ path: "authenticators", reason: "are not served: this deployment has no enrollment service" }]
    : [];

/** A create that has used up its time stops at its next write and leaves the rest to the job (decision C6). */
const tooLate = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfter: 30 });

/** A request that is marked, with what goes to the delivery service. */
interface Marked {
  readonly loaded: Loaded;
  readonly orders: readonly KeyOrder[];
  /** Before the write of the mark was sent. */
  readonly markedAt: Instant;
}

/** Asks the IdPs and stores what they gave, together with the delivery mark. */
async function mark(stored: Loaded, deps: ConnectorDeps): Promise<Marked> {
  const keys = stored.keys.map(({ value }) => value);
  const [asked, transport] = await Promise.all([askIdps(keys, deps), outcome(deps.delivery.transportKeys())]);
  const { challenges, failure } = asked;
  const refuse = (fault: Fault) => giveUp(stored, fault, deps, challenges);
  if (failure !== undefined) throw await refuse(idpFault(failure));
  if ("error" in transport) throw await refuse(transportFault(transport.error));

  const { id } = stored.request.value;
  const preparing = await outcome(Promise.all(keys.map(key => prepareKey(id, key, challenges, transport.value, deps))));
  if ("error" in preparing) throw await refuse(faultOf(preparing.error));
  const prepared = preparing.value;
  const markedAt = deps.now();
  if (markedAt > plus(stored.request.value.createdAt, deps.timing.create)) throw tooLate();
  const request = { ...stored.request.value, delivery: { sentAt: markedAt } };
  const keyRows = prepared.map(({ key }) => key);
  const loaded = (await write(stored, { request, keys: keyRows }, deps)) ?? (await ownMark(id, markedAt, deps));
  if (loaded === undefined) throw tooLate();
  return { loaded, orders: prepared.map(({ order }) => order), markedAt };
}

/** The request where the mark that it carries is ours: a write whose answer got lost looks as if another had been faster. */
async function ownMark(id: string, markedAt: Instant, { requests }: ConnectorDeps): Promise<Loaded | undefined> {
  const loaded = await requests.load(id);
  return loaded?.request.value.delivery?.sentAt === markedAt ? loaded : undefined;
}

const outcome = <T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> =>
  promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  );

/** Orders the shipment: one call, never repeated. */
async function order({ loaded, orders, markedAt }: Marked, deps: ConnectorDeps): Promise<Created> {
  const notAfter = plus(markedAt, deps.timing.markMaxAge);
  const shipment = orderOf(loaded, orders);
  let shipmentId: string;
  try {
    ({ shipmentId } = await deps.delivery.createShipment(shipment, { notAfter }));
  } catch (error) {
    if (!(error instanceof PeerFailure) || mayBeTaken(error)) throw await leaveUnsettled(loaded, markedAt, error, deps);
    throw await giveUp(loaded, deliveryFault(error), deps);
  }
  try {
    return await start(loaded, shipmentId, markedAt, deps);
  } catch (error) {
    // Storage that fails here must not look like a call that may be repeated: the shipment is ordered.
    deps.log.error("start_failed", { credentialRequestId: loaded.request.value.id, shipmentId, error });
    throw await leaveUnsettled(loaded, markedAt, error, deps);
  }
}

/** Whether the order may have been taken. A 5xx never says that it was not, not even one that names a time to come back. */
const mayBeTaken = ({ kind, status = 0 }: PeerFailure): boolean => kind === "unanswered" || status >= 500;

/** What the caller is told when the keys to encrypt to can not be had: it is not the shipment that is refused. */
function transportFault(error: unknown): Fault {
  if (error instanceof PeerFailure && error.passing) return deliveryFault(error);
  return new Fault("internal", "The delivery service's transport keys can not be read.", { cause: error });
}

/** What the caller is told when the delivery service said no or could not be asked (decision C6). */
function deliveryFault(error: PeerFailure): Fault {
  if (error.kind === "unauthorized") {
    return new Fault("internal", "The delivery service does not accept the connector.", { cause: error });
  }
  if (error.kind === "refused" || error.kind === "missing") {
    const message = error.detail ?? "The delivery service refused the shipment.";
    return new Fault("delivery_refused", message, { data: { code: error.code ?? "refused", message }, cause: error });
  }
  return new Fault("unavailable", "The delivery service does not answer now; nothing was ordered.", {
    retryAfter: error.retryAfter ?? 30,
    cause: error,
  });
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });

/**
 * Undoes what was begun and ends the request (decision C6). Where the undo fails, the request is left without its mark, with the
 * reason and with the ids that the IdPs gave, for the job to undo. Returns what the caller is told.
 * @param challenges what the IdPs began, where the rows do not hold it yet
 */
async function giveUp(
  loaded: Loaded,
  fault: Fault,
  deps: ConnectorDeps,
  challenges: Challenges = new Map(),
): Promise<Fault> {
  const { id } = loaded.request.value;
  const keys = loaded.keys.map(({ value }) => withHandles(value, challenges));
  try {
    const undone = await outcome(
      undoAtIdps(
        keys.flatMap(({ credentials }) => credentials),
        deps,
      ),
    );
    if ("value" in undone) await endRefused(loaded, fault.message, deps);
    else {
      deps.log.warn("undo_failed", { credentialRequestId: id, error: undone.error });
      const request = { ...withoutMark(loaded.request.value), errorMessage: fault.message };
      await write(loaded, { request, keys }, deps);
    }
  } catch (error) {
    deps.log.error("give_up_failed", { credentialRequestId: id, error });
  }
  return fault;
}

const withHandles = (key: Key, challenges: Challenges): Key => ({
  ...key,
  credentials: key.credentials.map(credential => {
    const handle = challenges.get(credential)?.handle;
    return handle === undefined ? credential : { ...credential, handle };
  }),
});

/** Ends the request also where the job has looked at it meanwhile: the delivery service's own "no" is known here alone. */
async function endRefused(loaded: Loaded, reason: string, deps: ConnectorDeps): Promise<void> {
  const { id, delivery } = loaded.request.value;
  let current: Loaded | undefined = loaded;
  while (current !== undefined && (await failRequest(current, reason, deps)) === undefined) {
    current = await deps.requests.load(id);
    const now = current?.request.value;
    const isOurs = now?.state === "received" && now.delivery?.sentAt === delivery?.sentAt && !now.delivery?.shipmentId;
    if (!isOurs) return;
  }
}

/** The call may have been taken: nothing is undone, nothing repeated, the job settles it (decision C6). */
async function leaveUnsettled(loaded: Loaded, markedAt: Instant, cause: unknown, deps: ConnectorDeps): Promise<Fault> {
  const { value } = loaded.request;
  deps.log.error("delivery_unanswered", { credentialRequestId: value.id, error: cause });
  const due = { queue: "settle", at: plus(markedAt, deps.timing.settleAfter) } as const;
  const written = await outcome(write(loaded, { request: { ...value, due, errorMessage: unconfirmed } }, deps));
  if ("error" in written)
    deps.log.error("unsettled_not_written", { credentialRequestId: value.id, error: written.error });
  return new Fault(
    "internal",
    "It is not known whether the shipment was ordered; ask for the credential request later.",
    { data: { credential_request_id: value.id }, cause },
  );
}

/**
 * Writes down the accepted shipment. A creator that was held up writes its id also over what the job has found meanwhile: it
 * was told by the delivery service itself (decision C6).
 */
async function start(marked: Loaded, shipmentId: string, markedAt: Instant, deps: ConnectorDeps): Promise<Created> {
  const { requests, now, timing, log } = deps;
  const requestId = marked.request.value.id;
  const due = { queue: "poll", at: plus(now(), timing.pollAfter) } as const;
  const [ours] = await Promise.all([requests.claimShipment(shipmentId, requestId), requests.schedule(due, requestId)]);
  if (!ours) throw new Error("the delivery service gave the id of another request's shipment");
  let loaded: Loaded | undefined = marked;
  while (loaded !== undefined) {
    const request = loaded.request.value;
    const { adopted, ...delivery } = request.delivery ?? {};
    if (!(request.state === "received" || (request.state === "started" && adopted === true))) break;
    const { errorMessage, lease, due: before, ...rest } = request;
    const state = request.state === "received" ? startRequest(request.state) : request.state;
    const started = { ...rest, state, attempts: 0, due, delivery: { ...delivery, sentAt: markedAt, shipmentId } };
    if ((await requests.save(loaded, { request: started })) !== undefined) {
      if (before !== undefined) leave(before, requestId, deps);
      const { shipmentId: stranger = shipmentId } = delivery;
      if (stranger !== shipmentId) await requests.releaseShipment(stranger, requestId);
      return { requestId, shipmentId };
    }
    loaded = await requests.load(requestId);
  }
  if (loaded?.request.value.delivery?.shipmentId !== shipmentId)
    log.error("shipment_after_end", { credentialRequestId: requestId, shipmentId });
  return { requestId, shipmentId };
}

/** Removes the index row of a request that has left it. The caller does not wait for that: the jobs sweep what stays (decision C15). */
function leave(due: Due, requestId: string, { requests, log }: ConnectorDeps): void {
  requests
    .unschedule(due, requestId)
    .catch((error: unknown) => log.warn("index_row_left", { credentialRequestId: requestId, error }));
}
