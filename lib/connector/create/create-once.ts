import type { Caller } from "../../caller.ts";
import { Fault, type FaultKind } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { CreateFormat } from "../api/create-wire.ts";
import type { ConnectorDeps, LoadedRequest, Stored } from "../deps.ts";
import { faultOf, stillRunning } from "../faults.ts";
import type { CreatedRequest } from "../model/draft.ts";
import { newRequestId, type RequestDraft } from "../model/draft.ts";
import {
  type Claim,
  type Final,
  fingerprintOf,
  judgeClaim,
  judgeRequest,
  type KeptAnswer,
  scopeOf,
} from "../model/idempotency.ts";
import { saveRequest } from "../store/save-request.ts";
import { checkRequest, createRequest, createUnder } from "./create-request.ts";

/**
 * Creates a request, at most once for a caller's Idempotency-Key (decision C6). The claim comes after validation, whose refusal
 * uses up nothing, and before anything of the request is stored.
 * Throws Fault as `checkRequest` and `createUnder` do; `conflict` for another body, and with `retryAfter` while the first call runs.
 * @param call `key` undefined: an ordinary create
 */
export async function createOnce<D extends RequestDraft>(
  draft: D,
  wire: CreateFormat<D>,
  { caller, key }: { readonly caller: Caller; readonly key: string | undefined },
  deps: ConnectorDeps,
): Promise<CreatedRequest> {
  if (key === undefined) return createRequest(draft, { ...wire, createdBy: caller }, deps);
  checkRequest(draft, wire, deps);
  const requestId = newRequestId(deps.random);
  const claimedAt = deps.now();
  const mine: Claim = {
    scope: scopeOf(wire.origin, caller, key),
    fingerprint: fingerprintOf(draft, key),
    requestId,
    claimedAt,
    endsAt: plus(claimedAt, deps.intervals.claimKept),
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
async function take(mine: Claim, deps: ConnectorDeps): Promise<Stored<Claim> | CreatedRequest> {
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

async function judge(found: Stored<Claim>, { fingerprint }: Claim, deps: ConnectorDeps): Promise<Final> {
  const { requests, now, intervals: timing } = deps;
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
const fence = async (loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<boolean> =>
  loaded === undefined || (await saveRequest(loaded, { request: loaded.request.value }, deps)) !== undefined;

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
