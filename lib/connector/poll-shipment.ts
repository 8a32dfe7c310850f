import { earliest, plus } from "../time.ts";
import { heldByAnother, leaseOf, type Run } from "./due-work.ts";
import type { KeyResponses } from "./key-responses.ts";
import { shippedItems } from "./order.ts";
import type { DeliveryShipment } from "./peers/delivery-wire.ts";
import { PeerFailure } from "./peers/peer-failure.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { readResponses } from "./read-responses.ts";
import type { Credential, CredentialRequest, Key } from "./request.ts";
import { afterEvent, endedKeys, rolledUp, withRollUp } from "./roll-up.ts";
import { unconfirmed } from "./settle.ts";
import { backOff } from "./timing.ts";
import { write } from "./write.ts";

/** What a poll learned, for the run as a whole (decision C10). */
export type PollResult = "answered" | "missing" | "refused_us" | "failed" | "skipped";

/** Shipment states whose responses are taken where they are there (decision C10). */
const readyStates = [103, 104, 105, 106];
/** States that the service calls errors: recorded, polled again. */
const errorStates = [8, 9, 99];

/**
 * Asks the delivery service for one shipment and takes over what is ready: credentials whose response opens, is signed and
 * answers this request become `activation_pending` (decisions C10, C11, C15).
 */
export async function pollShipment(loaded: Loaded, run: Run, deps: ConnectorDeps): Promise<PollResult> {
  const { now, timing, delivery, log } = deps;
  const request = loaded.request.value;
  const shipmentId = request.delivery?.shipmentId;
  if (shipmentId === undefined || heldByAnother(request.lease, run, now())) return "skipped";
  const claimed = await write(loaded, { request: { ...request, lease: leaseOf(run, now(), timing) } }, deps);
  if (claimed === undefined) return "skipped";
  if (nobodyWaits(claimed, deps)) {
    await endExpired(claimed, deps);
    return "skipped";
  }
  try {
    const shipment = await delivery.getShipment(shipmentId);
    await takeOver(claimed, shipment, deps);
    return "answered";
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    log.warn("poll_failed", { shipmentId, error });
    const unchanged = error.kind === "unauthorized" || (error.kind === "missing" && error.code !== undefined);
    if (unchanged) {
      await release(claimed, deps);
      return error.kind === "missing" ? "missing" : "refused_us";
    }
    await pollLater(
      claimed,
      { errorMessage: `The delivery service did not answer: ${error.message}` },
      deps,
      error.retryAfter,
    );
    return "failed";
  }
}

/** When the IdP stops taking an answer to a credential's challenge (decision C8). */
const challengeEnd = (
  { challengeExpiresAt }: Credential,
  { createdAt }: CredentialRequest,
  { timing }: ConnectorDeps,
) => challengeExpiresAt ?? plus(createdAt, timing.credentialMax);

/** Whether every shipped credential without a response has outlived its challenge: whatever the delivery service says is too late. */
const nobodyWaits = ({ request, keys }: Loaded, deps: ConnectorDeps): boolean =>
  shippedItems(keys.map(({ value }) => value))
    .flat()
    .flatMap(({ credentials }) => credentials)
    .filter(({ state }) => state === "processing")
    .every(credential => challengeEnd(credential, request.value, deps) <= deps.now());

async function endExpired(claimed: Loaded, deps: ConnectorDeps): Promise<void> {
  const request = claimed.request.value;
  const shipped = shippedItems(claimed.keys.map(({ value }) => value)).flat();
  const read = await Promise.all(shipped.map(key => readKey(request, key, undefined, deps)));
  await save(
    claimed,
    request,
    read.map(({ key }) => key),
    deps,
  );
}

/** Gives the claim back and changes nothing else. */
async function release(claimed: Loaded, deps: ConnectorDeps): Promise<void> {
  const { lease: _, ...request } = claimed.request.value;
  await write(claimed, { request }, deps);
}

/** The request as it is to be polled next. */
function polledAgain(
  request: CredentialRequest,
  { now, timing }: ConnectorDeps,
  retryAfter?: number,
): CredentialRequest {
  const { lease, ...rest } = request;
  const wait = Math.max(backOff(request.attempts, timing.pollAfter, timing.pollMax), (retryAfter ?? 0) * 1000);
  const due = { queue: "poll", at: plus(now(), wait), ...(retryAfter !== undefined && { held: true }) } as const;
  return { ...rest, attempts: request.attempts + 1, due };
}

async function pollLater(
  claimed: Loaded,
  changes: Partial<CredentialRequest>,
  deps: ConnectorDeps,
  retryAfter?: number,
): Promise<void> {
  await write(claimed, { request: { ...polledAgain(claimed.request.value, deps, retryAfter), ...changes } }, deps);
}

async function takeOver(claimed: Loaded, shipment: DeliveryShipment, deps: ConnectorDeps): Promise<void> {
  const { state } = shipment;
  const request = claimed.request.value;
  const { missing, ...delivery } = request.delivery ?? {};
  const { errorMessage, ...rest } = request;
  const told = { ...delivery, stateId: state.id, ...(state.message && { message: state.message }) };
  const problem = shownProblem(state);
  const seen: CredentialRequest = { ...rest, delivery: told, ...(problem && { errorMessage: problem }) };

  const items = shippedItems(claimed.keys.map(({ value }) => value));
  const keys: Key[] = [];
  let opened = 0;
  let unopened = 0;
  for (const [item, of] of items.entries()) {
    for (const [position, key] of of.entries()) {
      const responses = readyStates.includes(state.id) ? shipment.items[item]?.keys[position] : undefined;
      const result = await readKey(request, key, responses, deps);
      keys.push(result.key);
      opened += result.opened;
      unopened += result.unopened;
    }
  }
  if (request.delivery?.adopted === true && opened === 0 && unopened > 0)
    return disown(claimed, shipment.shipmentId, deps);
  await save(claimed, opened > 0 ? confirmed(seen) : seen, keys, deps);
}

const shownProblem = ({ id, message }: DeliveryShipment["state"]): string | undefined => {
  if (readyStates.includes(id) && id < 105) return undefined;
  if (errorStates.includes(id) || id >= 105) return `The delivery service reports: ${message ?? `state ${id}`}`;
  return message === undefined || (id > 100 && id < 105) ? undefined : `The delivery service reports: ${message}`;
};

function confirmed(request: CredentialRequest): CredentialRequest {
  const { adopted, ...delivery } = request.delivery ?? {};
  return { ...request, delivery };
}

interface ReadKey {
  readonly key: Key;
  /** Responses that opened with this key's response keys. */
  readonly opened: number;
  /** Responses that did not. */
  readonly unopened: number;
}

/** One key with the responses that came for it; its open credentials whose challenge has ended are given up (decision C8). */
async function readKey(
  request: CredentialRequest,
  key: Key,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<ReadKey> {
  const { id: requestId } = request;
  const now = deps.now();
  const waiting = key.credentials.some(({ state }) => state === "processing");
  if (!waiting) return { key, opened: 0, unopened: 0 };
  const read = responses === undefined ? undefined : await readResponses(requestId, key, responses, deps);
  const blob =
    read !== undefined && read.opened > 0 && responses
      ? await deps.responses.put(requestId, key.id, responses)
      : undefined;
  const credentials = key.credentials.map((credential, index) => {
    const answer = read?.credentials[index];
    if (credential.state !== "processing") return credential;
    const expiresAt = challengeEnd(credential, request, deps);
    if (expiresAt <= now)
      return afterEvent(
        credential,
        "expired",
        "The identity provider's challenge expired before the key was programmed.",
      );
    if (answer?.credentialId !== undefined) {
      const retryableUntil = earliest(plus(now, deps.timing.retryFor), expiresAt) ?? now;
      return {
        ...afterEvent(credential, "response_decoded"),
        credentialId: answer.credentialId,
        retryableUntil,
        nextAt: now,
      };
    }
    return answer?.problem === undefined ? credential : { ...credential, errorMessage: answer.problem };
  });
  const named = {
    ...(responses?.serial && { serial: responses.serial }),
    ...(responses?.firmware && { firmware: responses.firmware }),
    ...(blob && { responses: blob }),
  };
  const changed = withRollUp({ ...key, ...named, credentials }, now);
  const ready = changed.credentials.some(({ state }) => state === "activation_pending");
  const due = ready ? { due: { queue: "key", at: now } as const } : {};
  return { key: { ...changed, ...due }, opened: read?.opened ?? 0, unopened: read?.unopened ?? 0 };
}

/** Writes what a poll changed. Polling ends when no shipped credential waits any more. */
async function save(
  claimed: Loaded,
  request: CredentialRequest,
  shipped: readonly Key[],
  deps: ConnectorDeps,
): Promise<void> {
  const before = claimed.keys.map(({ value }) => value);
  const changed = shipped.filter(key => !before.includes(key));
  const keys = before.map(key => changed.find(({ id }) => id === key.id) ?? key);
  const waiting = shipped.some(({ credentials }) => credentials.some(({ state }) => state === "processing"));
  const { lease, due, ...rest } = request;
  const next = waiting ? polledAgain(request, deps) : rest;
  const saved = await write(claimed, { request: rolledUp(next, keys, deps.now()), keys: changed }, deps);
  if (saved === undefined) deps.log.warn("poll_overtaken", {});
}

/** An adopted shipment whose responses are not for this request's keys: another's. The look-up goes on (decision C6). */
async function disown(claimed: Loaded, shipmentId: string, deps: ConnectorDeps): Promise<void> {
  const request = claimed.request.value;
  deps.log.error("shipment_disowned", { shipmentId });
  const { shipmentId: _, adopted, stateId, message, missing, ...delivery } = request.delivery ?? {};
  const { lease, ...rest } = request;
  const strangers = [...(delivery.strangers ?? []), shipmentId];
  const due = { queue: "settle", at: deps.now() } as const;
  const unsettled = {
    state: "received",
    errorMessage: unconfirmed,
    delivery: { ...delivery, strangers },
    due,
  } as const;
  const saved = await write(claimed, { request: { ...rest, ...unsettled } }, deps);
  if (saved !== undefined) await deps.requests.releaseShipment(shipmentId, request.id);
}

/**
 * Counts a 404 with the service's own error object; after 3 over the time named by decision C10 the shipment counts as cancelled.
 * Called only when the run has seen that the service knows other shipments.
 */
export async function countMissing(loaded: Loaded, deps: ConnectorDeps): Promise<void> {
  const { now, timing, log } = deps;
  const request = loaded.request.value;
  const missing = {
    count: (request.delivery?.missing?.count ?? 0) + 1,
    since: request.delivery?.missing?.since ?? now(),
  };
  const counted = { ...request, delivery: { ...request.delivery, missing } };
  if (missing.count < 3 || plus(missing.since, timing.shipmentMissing) > now()) {
    await pollLater(
      loaded,
      { delivery: counted.delivery, errorMessage: "The delivery service does not know the shipment." },
      deps,
    );
    return;
  }
  log.warn("shipment_cancelled", { shipmentId: request.delivery?.shipmentId });
  const reason = "The shipment was deleted at the delivery service.";
  const shipped = loaded.keys.map(({ value }) => value).filter(({ place }) => place === "shipment");
  const { due, ...rest } = counted;
  await save(loaded, { ...rest, errorMessage: reason }, endedProcessing(shipped, reason, now()), deps);
}

/** Cancels what waits for a key; what was answered goes on. */
const endedProcessing = (keys: readonly Key[], reason: string, now: string): readonly Key[] =>
  keys.map(key => {
    if (key.credentials.every(({ state }) => state === "processing"))
      return endedKeys([key], "cancelled", reason, now)[0] ?? key;
    const credentials = key.credentials.map(credential =>
      credential.state === "processing" ? afterEvent(credential, "cancelled", reason) : credential,
    );
    return withRollUp({ ...key, credentials }, now);
  });
