import type { Fault } from "../../fault.ts";
import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { deliveryFault, isClientError, unconfirmedMessage, unreconciledFault } from "../faults.ts";
import { PeerFailure } from "../http/failure.ts";
import { toResult } from "../http/to-result.ts";
import type { CreatedRequest } from "../model/draft.ts";
import { saveRequest } from "../store/save-request.ts";
import { abortCreate } from "./abort.ts";
import { orderOf } from "./delivery-order.ts";
import type { KeyRequests } from "./encrypt-key-requests.ts";
import type { Prepared } from "./prepare-request.ts";
import { saveFromHandler, tooLateWith } from "./save-from-handler.ts";
import { startShipped } from "./start-request.ts";

/** A request that is marked, with what goes to the delivery service. */
interface Marked {
  readonly loaded: LoadedRequest;
  readonly orders: readonly KeyRequests[];
  /** Before the write of the mark was sent. */
  readonly markedAt: Instant;
}

/**
 * Writes the delivery mark, together with what the IdPs gave where that is not stored yet. From here on the order may exist
 * (decision C6).
 */
export async function recordOrderIntent(
  loaded: LoadedRequest,
  { keys, orders }: Prepared,
  deps: ConnectorDeps,
): Promise<Marked> {
  const markedAt = deps.now();
  const request = { ...loaded.request.value, delivery: { sentAt: markedAt } };
  const stored = loaded.keys.every(({ value }) =>
    value.credentials.every(({ responseKey }) => responseKey !== undefined),
  );
  const changes = { request, ...(stored ? {} : { keys }) };
  const isOurs = (now: LoadedRequest) => now.request.value.delivery?.sentAt === markedAt;
  const marked = await saveFromHandler(loaded, changes, isOurs, deps);
  if (marked === undefined) throw await tooLateWith(request.id, stored ? [] : keys, deps);
  return { loaded: marked, orders, markedAt };
}

/** Orders the shipment: one call, never repeated. */
export async function orderShipment(
  { loaded, orders, markedAt }: Marked,
  deps: ConnectorDeps,
): Promise<CreatedRequest> {
  const notAfter = plus(markedAt, deps.intervals.markMaxAge);
  const shipment = orderOf(loaded, orders);
  let shipmentId: string;
  try {
    ({ shipmentId } = await deps.delivery.createShipment(shipment, { notAfter }));
  } catch (error) {
    if (!(error instanceof PeerFailure) || mayBeTaken(error)) throw await leaveUnsettled(loaded, markedAt, error, deps);
    throw await abortCreate(loaded, deliveryFault(error), deps);
  }
  try {
    return await startShipped(loaded, shipmentId, markedAt, deps);
  } catch (error) {
    // Storage that fails here must not look like a call that may be repeated: the shipment is ordered.
    deps.log.error("start_failed", { credentialRequestId: loaded.request.value.id, shipmentId, error });
    throw await leaveUnsettled(loaded, markedAt, error, deps);
  }
}

/**
 * Whether the order may have been taken. A 4xx says that it was not (decision C6); a 5xx never does, not even one that names a time
 * to come back.
 */
const mayBeTaken = ({ kind, status = 0 }: PeerFailure): boolean =>
  status >= 500 || (kind === "unanswered" && !isClientError(status));

/** The call may have been taken: nothing is undone, nothing repeated, the job settles it (decision C6). */
async function leaveUnsettled(
  loaded: LoadedRequest,
  markedAt: Instant,
  cause: unknown,
  deps: ConnectorDeps,
): Promise<Fault> {
  const { value } = loaded.request;
  deps.log.error("delivery_unanswered", { credentialRequestId: value.id, error: cause });
  const due = { queue: "reconcile", at: plus(markedAt, deps.intervals.settleAfter) } as const;
  const written = await toResult(
    saveRequest(loaded, { request: { ...value, due, errorMessage: unconfirmedMessage } }, deps),
  );
  if ("error" in written)
    deps.log.error("unsettled_not_written", { credentialRequestId: value.id, error: written.error });
  return unreconciledFault(value.id, cause);
}
