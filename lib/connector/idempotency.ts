import type { Caller } from "../caller.ts";
import { Fault, type FaultKind } from "../fault.ts";
import { plus } from "../time.ts";
import { checkRequest, createRequest, createUnder } from "./create-request.ts";
import type { CreateWire } from "./create-wire.ts";
import type { Created } from "./created.ts";
import {
  type Claim,
  type ClaimVerdict,
  fingerprintOf,
  judgeClaim,
  judgeRequest,
  type KeptAnswer,
  type RequestVerdict,
  scopeOf,
} from "./idempotency-claim.ts";
import { type NewRequest, newRequestId } from "./new-request.ts";
import { unsettledFault } from "./order-shipment.ts";
import type { ConnectorDeps, Loaded, Stored } from "./ports.ts";
import type { CredentialRequest } from "./request.ts";
import { write } from "./write.ts";

/**
 * Creates a request, at most once for a caller's Idempotency-Key (decision C6). The claim comes after validation, whose refusal
 * uses up nothing, and before anything of the request is stored.
 * Throws Fault as `checkRequest` and `createUnder` do; `conflict` for another body, and with `retryAfter` while the first call runs.
 * @param call `key` undefined: an ordinary create
 */
export async function createOnce<D extends NewRequest>(
  draft: D,
  wire: CreateWire<D>,
  { caller, key }: { readonly caller: Caller; readonly key: string | undefined },
  deps: ConnectorDeps,
): Promise<Created> {
  if (key === undefined) return createRequest(draft, { ...wire, createdBy: caller }, deps);
  checkRequest(draft, wire, deps);
  const requestId = newRequestId(deps.random);
  const claimedAt = deps.now();
  const mine: Claim = {
    scope: scopeOf(wire.origin, caller, key),
    fingerprint: fingerprintOf(draft, key),
    requestId,
    claimedAt,
    endsAt: plus(claimedAt, deps.timing.claimKept),
  };
  const held = await take(mine, deps);
  if (!("etag" in held)) return held;
  try {
    const created = await createUnder(requestId, draft, { ...wire, claim: mine, createdBy: caller }, deps);
    await keep(held, { created }, deps);
    return created;
  } catch (error) {
    await keepRefusal(held, error, deps);
    throw error;
  }
}

/** How often others may be faster before the caller is asked to come again. */
const mostTries = 5;

/** The claim as ours, or what another call with the key came to. */
async function take(mine: Claim, deps: ConnectorDeps): Promise<Stored<Claim> | Created> {
  const { claims } = deps;
  for (let tried = 0; tried < mostTries; tried++) {
    const inserted = await claims.insert(mine);
    if (inserted !== undefined) return inserted;
    const found = await claims.find(mine.scope);
    if (found === undefined) continue;
    // Written by an earlier try of ours, whose answer got lost.
    if (found.value.requestId === mine.requestId) return found;
    const verdict = await judge(found, mine, deps);
    if (verdict.is === "answered" && "created" in verdict.answer) return verdict.answer.created;
    if (verdict.is !== "free") throw faultOf(verdict, found.value);
    const replaced = await claims.replace(found, mine);
    if (replaced !== undefined) return replaced;
  }
  throw stillRunning();
}

type Final = Exclude<ClaimVerdict | RequestVerdict, { readonly is: "look" | "abandoned" }>;

async function judge(found: Stored<Claim>, { fingerprint }: Claim, deps: ConnectorDeps): Promise<Final> {
  const { requests, now, timing } = deps;
  const byItself = judgeClaim(found.value, { fingerprint, now: now(), runningFor: timing.claimRunning });
  if (byItself.is !== "look") return byItself as Final;
  const loaded = await requests.load(found.value.requestId);
  const byRequest = judgeRequest(loaded?.request.value);
  if (byRequest.is === "abandoned") return { is: (await fence(loaded, deps)) ? "free" : "running" };
  // What was adopted may yet prove to be another's.
  const isFinal = loaded?.request.value.delivery?.adopted !== true;
  if (byRequest.is === "answered" && isFinal) await keep(found, byRequest.answer, deps);
  return byRequest as Final;
}

/** Rewrites a request that nobody marked: a creator whose write still is on its way loses its mark by this, and with it the order. */
const fence = async (loaded: Loaded | undefined, deps: ConnectorDeps): Promise<boolean> =>
  loaded === undefined || (await write(loaded, { request: loaded.request.value }, deps)) !== undefined;

/** What a call is told that meets another's claim. */
function faultOf(verdict: Final, { requestId }: Claim): Fault {
  const data = { credential_request_id: requestId };
  switch (verdict.is) {
    case "other_body":
      return new Fault("conflict", "The Idempotency-Key was used with another body.");
    case "erased":
      return new Fault("conflict", "The request of this Idempotency-Key was erased.");
    case "cancelled":
      return new Fault("conflict", "The request of this Idempotency-Key was cancelled.", { data });
    case "unsettled":
      return unsettledFault(requestId);
    case "never_confirmed":
      return new Fault("internal", verdict.reason, { data });
    case "answered":
      if ("refused" in verdict.answer) {
        const { kind, message, data: told } = verdict.answer.refused;
        return new Fault(kind, message, told && { data: told });
      }
  }
  return stillRunning();
}

const stillRunning = (): Fault =>
  new Fault("conflict", "The first call with this Idempotency-Key is still running.", { retryAfter: 5 });

/** Kept are the refusals that another try would meet again. */
const passing: readonly FaultKind[] = ["throttled", "unavailable", "internal"];

/** After a create that failed: a refusal is kept; where nothing was ordered the key is free again. */
async function keepRefusal(held: Stored<Claim>, error: unknown, deps: ConnectorDeps): Promise<void> {
  if (error instanceof Fault && !passing.includes(error.kind)) {
    const { kind, message, data } = error;
    return keep(held, { refused: { kind, message, ...(data && { data }) } }, deps);
  }
  try {
    const loaded = await deps.requests.load(held.value.requestId);
    const { is } = judgeRequest(loaded?.request.value);
    if (is === "free" || (is === "abandoned" && (await fence(loaded, deps)))) await deps.claims.release(held);
    else if (is !== "abandoned") await keep(held, "unsettled", deps);
  } catch (failure) {
    // The claim stays as one that runs, and is judged by the request's row when it is old enough.
    deps.log.warn("claim_left", { credentialRequestId: held.value.requestId, error: failure });
  }
}

/** Writes down what a call came to. Where that fails the row of the request tells as much. */
async function keep(found: Stored<Claim>, answer: KeptAnswer, { claims, log }: ConnectorDeps): Promise<void> {
  try {
    await claims.replace(found, { ...found.value, answer });
  } catch (error) {
    log.warn("answer_not_kept", { credentialRequestId: found.value.requestId, error });
  }
}

/**
 * Before a request's rows go: what it came to stays with its claim, so that the key does not order once more (decisions C6, C16).
 * @param erased nothing of what was answered stays
 */
export async function concludeClaim(
  request: CredentialRequest,
  { claims }: Pick<ConnectorDeps, "claims">,
  { erased = false } = {},
): Promise<void> {
  if (request.claim === undefined) return;
  for (;;) {
    const found = await claims.find(request.claim);
    if (found === undefined || found.value.requestId !== request.id) return;
    const answer = erased ? "erased" : lastWord(found.value, request);
    if (answer === found.value.answer) return;
    if ((await claims.replace(found, withAnswer(found.value, answer))) !== undefined) return;
  }
}

function lastWord({ answer }: Claim, request: CredentialRequest): KeptAnswer | undefined {
  if (answer !== undefined && answer !== "unsettled") return answer;
  const verdict = judgeRequest(request);
  if (verdict.is === "answered") return verdict.answer;
  if (verdict.is === "never_confirmed" || verdict.is === "cancelled") {
    const { kind, message, data } = faultOf(verdict, { requestId: request.id } as Claim);
    return { refused: { kind, message, ...(data && { data }) } };
  }
  return undefined;
}

const withAnswer = ({ answer: _, ...claim }: Claim, answer: KeptAnswer | undefined): Claim => ({
  ...claim,
  ...(answer !== undefined && { answer }),
});
