import { toResult } from "../../platform/async.ts";
import type { Caller } from "../../platform/caller.ts";
import { Fault, type FaultKind } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { claimFault, stillRunningFault } from "../faults.ts";
import {
  type Claim,
  type FinalVerdict,
  fingerprintOf,
  judgeClaim,
  judgeRequest,
  type KeptAnswer,
  scopeOf,
  toKeptRefusal,
} from "../model/idempotency.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isOnSite } from "../model/security-key.ts";
import { checkRequest, requireReplaceable } from "./check-request.ts";
import { type CreatedIds, newRequestId, type RequestDraft, receivedRequest } from "./draft.ts";
import { authenticateEnrollment, enroll, startWithoutShipment } from "./enroll.ts";
import { orderShipment } from "./order-shipment.ts";
import { prepareRequest } from "./prepare-request.ts";

/** What a create returns. */
interface Created extends CreatedIds {
  /** Whether an earlier call with the key created it. */
  readonly isReplayed: boolean;
}

/**
 * Creates a request at most once for each Idempotency-Key of a caller. The key is claimed after validation, so that an
 * invalid body does not use it up, and before anything is stored (C6). Throws Fault as `checkRequest` and
 * `createWithId` do; `conflict` if the key was used with another body, and `conflict` with Retry-After while the first
 * call runs.
 * @param call `idempotencyKey` is undefined if the call has none
 */
export async function createOnce(
  draft: RequestDraft,
  { caller, idempotencyKey }: { readonly caller: Caller; readonly idempotencyKey: string | undefined },
  deps: ConnectorDeps,
): Promise<Created> {
  if (idempotencyKey === undefined)
    return { ...(await createRequest(draft, { createdBy: caller }, deps)), isReplayed: false };
  checkRequest(draft, deps);
  const requestId = newRequestId(deps.random);
  const claimedAt = deps.now();
  const ourClaim: Claim = {
    scope: scopeOf(draft.origin, caller, idempotencyKey),
    fingerprint: fingerprintOf(draft, idempotencyKey),
    requestId,
    claimedAt,
    endsAt: plus(claimedAt, deps.intervals.claimKeptMs),
  };
  const claim = await takeClaim(ourClaim, deps);
  if (!("version" in claim)) return { ...claim, isReplayed: true };
  // After the claim: a repeat gets its answer also if the replaced key has changed. Nothing is stored, so a refusal
  // does not use it up.
  if (draft.replaces !== undefined) {
    const replaceable = await toResult(requireReplaceable(draft, deps));
    if ("error" in replaceable) {
      await deps.claims.release(claim);
      throw replaceable.error;
    }
  }
  try {
    const created = await createWithId(requestId, draft, { claim: ourClaim, createdBy: caller }, deps);
    await saveAnswer(claim, { created }, deps);
    return { ...created, isReplayed: false };
  } catch (error) {
    await saveRefusal(claim, error, deps);
    throw error;
  }
}

/** Conflicts with other calls after which the caller is asked to retry. */
const maxAttempts = 5;

/** Returns our stored claim, or the ids that an earlier call created. Throws Fault as `createOnce` does. */
async function takeClaim(ourClaim: Claim, deps: ConnectorDeps): Promise<Stored<Claim> | CreatedIds> {
  const { claims } = deps;
  for (let tried = 0; tried < maxAttempts; tried++) {
    const found = await claims.insert(ourClaim);
    if (found === undefined) continue;
    if (found.value.requestId === ourClaim.requestId) return found;
    const verdict = await judge(found, ourClaim, deps);
    if (verdict.is === "answered" && "created" in verdict.answer) return verdict.answer.created;
    if (verdict.is !== "free") throw claimFault(verdict, found.value);
    const replaced = await claims.replace(found, ourClaim);
    if (replaced !== undefined) return replaced;
  }
  throw stillRunningFault();
}

async function judge(found: Stored<Claim>, { fingerprint }: Claim, deps: ConnectorDeps): Promise<FinalVerdict> {
  const { requests, now, intervals } = deps;
  const claimVerdict = judgeClaim(found.value, { fingerprint, now: now(), runningMs: intervals.claimRunningMs });
  if (claimVerdict.is !== "look") return claimVerdict as FinalVerdict;
  const loaded = await requests.load(found.value.requestId);
  const requestVerdict = judgeRequest(loaded?.request);
  if (requestVerdict.is === "abandoned") return { is: (await abortStoppedHandler(loaded, deps)) ? "free" : "running" };
  return requestVerdict as FinalVerdict;
}

/**
 * Rewrites a request that has no order intent, so that a create handler that is still running fails to write its intent
 * and orders nothing. Returns false on a conflict.
 */
const abortStoppedHandler = async (loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<boolean> =>
  loaded === undefined || (await deps.requests.save(loaded, { request: loaded.request })) !== undefined;

/** Faults that a repeat may not meet again; all others are saved in the claim. */
const temporaryKinds: readonly FaultKind[] = ["throttled", "unavailable", "internal"];

/** Saves a permanent refusal in the claim. After a temporary failure, releases the claim if nothing was ordered. */
async function saveRefusal(claim: Stored<Claim>, error: unknown, deps: ConnectorDeps): Promise<void> {
  if (error instanceof Fault && !temporaryKinds.includes(error.kind)) {
    return saveAnswer(claim, { refused: toKeptRefusal(error) }, deps);
  }
  try {
    const loaded = await deps.requests.load(claim.value.requestId);
    const { is } = judgeRequest(loaded?.request);
    if (is === "free" || (is === "abandoned" && (await abortStoppedHandler(loaded, deps))))
      await deps.claims.release(claim);
    else if (is !== "abandoned") await saveAnswer(claim, "unreconciled", deps);
  } catch (failure) {
    // The claim keeps looking as if its call were running. When it is old enough, it is judged by the request's row.
    deps.log.warn("claim_not_concluded", { credentialRequestId: claim.value.requestId, error: failure });
  }
}

/** Saves the answer of a call in its claim. A failure is only logged: the request's row has the same outcome. */
async function saveAnswer(found: Stored<Claim>, answer: KeptAnswer, { claims, log }: ConnectorDeps): Promise<void> {
  try {
    await claims.replace(found, { ...found.value, answer });
  } catch (error) {
    log.warn("answer_not_saved", { credentialRequestId: found.value.requestId, error });
  }
}

/**
 * Validates a credential request and creates it under a new id.
 * Throws Fault as `checkRequest` and `createWithId` do.
 */
export async function createRequest(
  draft: RequestDraft,
  by: { readonly createdBy?: Caller },
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  checkRequest(draft, deps);
  if (draft.replaces !== undefined) await requireReplaceable(draft, deps);
  return createWithId(newRequestId(deps.random), draft, by, deps);
}

/**
 * Creates a validated request under `id`: stores it, asks the IdPs, sends authenticators to the pre-registration API,
 * writes the order intent, and orders the shipment last, because an order cannot be withdrawn. After a crash at any
 * step, the job knows from the rows what may have been done (C6). Throws Fault `idp_refused`, `delivery_refused`,
 * `invalid` (refused by the pre-registration API), `unavailable` or `internal`.
 */
export async function createWithId(
  id: string,
  draft: RequestDraft,
  { claim, createdBy }: { readonly claim?: Pick<Claim, "scope" | "claimedAt">; readonly createdBy?: Caller },
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { now, intervals, requests, idps, log } = deps;
  const rows = receivedRequest(draft, {
    id,
    claim: claim?.scope,
    createdBy,
    // A claim is judged by its age, so the time limit of the create starts with the claim.
    now: claim?.claimedAt ?? now(),
    receivedMaxAgeMs: intervals.receivedMaxAgeMs,
    defaultIdp: idps.defaultId,
  });
  const stored = await requests.insert(rows.request, rows.keys);
  log.info("request_state", { credentialRequestId: id, state: rows.request.state });
  const onSite = rows.keys.some(isOnSite);
  if (onSite) await authenticateEnrollment(stored, deps);
  const prepared = await prepareRequest(stored, draft.pathOf, deps);
  const enrolled = onSite ? await enroll(stored, prepared, deps) : stored;
  if (rows.request.shipment === undefined) return startWithoutShipment(enrolled, deps);
  return orderShipment(enrolled, prepared, deps);
}
