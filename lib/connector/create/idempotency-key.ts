import type { Result } from "../../platform/async.ts";
import { Fault, type FaultKind } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import { between, plus, seconds } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { orderingMessage, unreconciledFault } from "../faults.ts";
import { type Answer, answerOf, type Claim } from "../model/idempotency.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { CreatedIds } from "./draft.ts";

/** Conflicts with other calls after which the caller is asked to retry. */
const maxAttempts = 5;

const minWaitMs = seconds(5);

/**
 * Claims an Idempotency-Key for a call (C6). Returns the stored claim, or the ids that an earlier call created. Throws
 * the Fault that the earlier call got, and `conflict` if it had another body, still runs, or its order is looked up.
 */
export async function takeClaim(ours: Claim, deps: ConnectorDeps): Promise<Stored<Claim> | CreatedIds> {
  const { claims } = deps;
  for (let tried = 0; tried < maxAttempts; tried++) {
    const found = await claims.insert(ours);
    if (found === undefined) continue;
    if (found.value.requestId === ours.requestId) return found;
    const created = await readClaim(found.value, ours, deps);
    if (created !== "free") return created;
    const replaced = await claims.replace(found, ours);
    if (replaced !== undefined) return replaced;
  }
  throw stillRunning(minWaitMs);
}

/** Returns what the call of a claim created, or that nothing was ordered. Throws as `takeClaim` does. */
async function readClaim(
  { requestId, claimedAt, endsAt, fingerprint, answer }: Claim,
  ours: Claim,
  deps: ConnectorDeps,
): Promise<CreatedIds | "free"> {
  const { requests, now, intervals } = deps;
  if (endsAt <= now()) return "free";
  if (fingerprint !== ours.fingerprint) throw new Fault("conflict", "The Idempotency-Key was used with another body.");
  if (answer !== undefined) return createdOrThrow(answer);

  const loaded = await requests.load(requestId);
  const request = loaded?.request;
  const hasOutcome = request !== undefined && request.state !== "received" && request.neverSent !== true;
  if (hasOutcome) return createdOrThrow(answerOf(request));
  const { sentAt } = request?.delivery ?? {};
  const orderMs = intervals.orderIntentMaxAgeMs + intervals.deliveryCallMs;
  const runsUntil = sentAt === undefined ? plus(claimedAt, intervals.createMs) : plus(sentAt, orderMs);
  const remainingMs = between(now(), runsUntil);
  const isUnanswered = sentAt !== undefined && request?.errorMessage !== orderingMessage;
  const mayBeRunning = !isUnanswered && remainingMs > 0;
  // Most calls end within seconds, so the wait begins short and doubles. A call that stopped is known at `runsUntil`.
  const waitMs = Math.max(minWaitMs, between(claimedAt, now()));
  if (mayBeRunning) throw stillRunning(Math.min(waitMs, remainingMs));
  if (sentAt !== undefined) {
    // The next look-up. If it is overdue, a run of the job is about to make it.
    const firstAt = plus(sentAt, intervals.reconcileAfterMs);
    const [firstMs, nextMs] = [between(now(), firstAt), between(now(), request?.due?.at ?? firstAt)];
    const retryAfterSeconds = Math.max(intervals.retry.minMs, firstMs, nextMs) / 1000;
    throw unreconciledFault("conflict", requestId, { retryAfterSeconds });
  }
  if (await confirmNothingOrdered(loaded, deps)) return "free";
  throw stillRunning(minWaitMs);
}

const stillRunning = (waitMs: number): Fault =>
  new Fault("conflict", "The first call with this Idempotency-Key is still running.", {
    retryAfterSeconds: waitMs / 1000,
  });

function createdOrThrow(answer: Answer): CreatedIds {
  if ("created" in answer) return answer.created;
  const { kind, message, ...details } = answer.refused;
  throw new Fault(kind, message, details);
}

/**
 * Returns whether nothing was ordered for a request. Rewrites one without an order intent by its ETag, so that a create
 * handler that is still running fails to write its intent and orders nothing.
 */
async function confirmNothingOrdered(loaded: LoadedRequest | undefined, { requests }: ConnectorDeps): Promise<boolean> {
  if (loaded === undefined || loaded.request.neverSent === true) return true;
  const { request } = loaded;
  if (request.state !== "received" || request.delivery?.sentAt !== undefined) return false;
  return (await requests.save(loaded, { request })) !== undefined;
}

/** Faults that a repeat may not meet again; all others are stored in the claim. */
const temporaryKinds: readonly FaultKind[] = ["throttled", "unavailable", "internal"];

/**
 * Stores the outcome of a call in its claim. After a temporary failure, releases the claim if nothing was ordered. A
 * failure is only logged: a repeat is judged by the row of the request.
 */
export async function concludeClaim(
  claim: Stored<Claim>,
  outcome: Result<CreatedIds>,
  deps: ConnectorDeps,
): Promise<void> {
  const { claims, requests, log } = deps;
  const { requestId } = claim.value;
  const answer = "value" in outcome ? { created: outcome.value } : refusalOf(outcome.error);
  try {
    if (answer !== undefined) await claims.replace(claim, { ...claim.value, answer });
    else if (await confirmNothingOrdered(await requests.load(requestId), deps)) await claims.release(claim);
  } catch (error) {
    log.warn("claim_not_concluded", { credentialRequestId: requestId, error });
  }
}

/** Returns what is stored of a refusal; undefined for an error that a repeat may not meet again. */
function refusalOf(error: unknown): Answer | undefined {
  if (!(error instanceof Fault) || temporaryKinds.includes(error.kind)) return undefined;
  const { kind, message, data, problems } = error;
  return { refused: { kind, message, ...(data && { data }), ...(problems.length > 0 && { problems }) } };
}
