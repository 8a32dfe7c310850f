import { toResult } from "../../platform/async.ts";
import type { Caller } from "../../platform/caller.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idps } from "../idp/contract.ts";
import { type Claim, fingerprintOf, scopeOf } from "../model/idempotency.ts";
import type { Intervals } from "../model/intervals.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { hasPinMail, isOnSite } from "../model/security-key.ts";
import type { EncryptedRequests } from "../peers/exchange-messages.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { abortCreate } from "./abort-create.ts";
import { checkRequest, requireReplacedKey } from "./check-request.ts";
import type { CreatedIds, RequestDraft } from "./draft.ts";
import { requireEnrollmentToken, sendAuthenticators, startWithoutShipment } from "./enroll.ts";
import { concludeClaim, takeClaim } from "./idempotency-key.ts";
import { orderShipment, recordOrderIntent, saveFromHandler } from "./order-shipment.ts";
import { prepareRequest } from "./prepare-request.ts";

/**
 * Creates a request, at most once for each Idempotency-Key of a caller. The key is claimed after validation, so that an
 * invalid body does not use it up, and before anything is stored (C6). Throws Fault as `checkRequest`,
 * `requireReplacedKey`, `takeClaim` and `createWithId` do.
 * @param call `idempotencyKey` is undefined if the call has none
 * @returns the ids, and whether an earlier call with the key created it
 */
export async function createRequest(
  draft: RequestDraft,
  { caller, idempotencyKey }: { readonly caller: Caller; readonly idempotencyKey?: string | undefined },
  deps: ConnectorDeps,
): Promise<CreatedIds & { readonly isReplayed: boolean }> {
  checkRequest(draft, deps);
  const requestId = newRequestId(deps.random);
  if (idempotencyKey === undefined) {
    await requireReplacedKey(draft, deps);
    return { ...(await createWithId(requestId, draft, { createdBy: caller }, deps)), isReplayed: false };
  }
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
  // After the claim: a repeat gets its answer also if the replaced key has changed. No request is stored yet: a refusal
  // releases the claim, so that the Idempotency-Key can be used again.
  const replaceable = await toResult(requireReplacedKey(draft, deps));
  if ("error" in replaceable) {
    await deps.claims.release(claim);
    throw replaceable.error;
  }
  const outcome = await toResult(createWithId(requestId, draft, { claim: ourClaim, createdBy: caller }, deps));
  await concludeClaim(claim, outcome, deps);
  if ("error" in outcome) throw outcome.error;
  return { ...outcome.value, isReplayed: false };
}

/**
 * Creates a validated request under `id`: stores it, asks the IdPs, sends authenticators to the pre-registration API,
 * writes the order intent, and orders the shipment last, because an order cannot be withdrawn. A failure before the
 * order compensates what was done. After a crash at any step, the job knows from the rows what may have been done (C6).
 * Throws Fault `idp_refused`, `delivery_refused`, `invalid` (refused by the pre-registration API), `unavailable` or
 * `internal`.
 */
export async function createWithId(
  id: string,
  draft: RequestDraft,
  by: { readonly claim?: Claim; readonly createdBy?: Caller },
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const received = receivedRequest(id, draft, by, deps);
  let loaded = await deps.requests.insert(received.request, received.keys);
  deps.log.info("request_state", { credentialRequestId: id, state: "received" });
  const { shipment } = received.request;
  const hasAuthenticators = received.keys.some(isOnSite);
  const responses: OptionsResponses = new Map();
  let encrypted: EncryptedRequests = new Map();
  try {
    if (hasAuthenticators) await requireEnrollmentToken(deps);
    const prepared = await prepareRequest(loaded, draft.pathOf, responses, deps);
    encrypted = prepared.encrypted;
    loaded = { ...loaded, keys: prepared.keys };
    if (hasAuthenticators) {
      // The rows are written first, so that the job knows what to remove there after a crash (C6).
      loaded = await saveFromHandler(loaded, { request: loaded.request, keys: loaded.keys }, deps);
      await sendAuthenticators(loaded, encrypted, deps);
    }
    if (shipment !== undefined) loaded = await recordOrderIntent(loaded, deps);
  } catch (error) {
    await abortCreate(loaded, error, deps, responses);
    throw error;
  }
  return shipment === undefined ? startWithoutShipment(loaded, deps) : orderShipment(loaded, encrypted, deps);
}

/** Returns a random version 4 UUID (RFC 9562 section 5.4). */
export function newRequestId(random: (bytes: number) => Uint8Array): string {
  const bytes = Buffer.from(random(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Returns the rows of a new request. It is due for compensation in case its create handler stops before the order
 * intent (C6).
 */
export function receivedRequest(
  id: string,
  { origin, recipient, emailsTo, shipment, keys, replaces }: RequestDraft,
  { claim, createdBy }: { readonly claim?: Claim; readonly createdBy?: Caller },
  {
    now,
    intervals,
    idps,
  }: Pick<ConnectorDeps, "now"> & {
    readonly intervals: Pick<Intervals, "receivedMaxAgeMs">;
    readonly idps: Pick<Idps, "defaultId">;
  },
): RequestValues {
  // A claim is judged by its age, so the time limit of the create starts with the claim.
  const createdAt = claim?.claimedAt ?? now();
  const createEndsAt = plus(createdAt, intervals.receivedMaxAgeMs);
  return {
    request: {
      recipient,
      emailsTo,
      ...(shipment && { shipment }),
      id,
      origin,
      ...(claim && { claim: claim.scope }),
      ...(createdBy && { createdBy }),
      state: "received",
      createdAt,
      due: { queue: "reconcile", at: createEndsAt },
      ...(replaces && { replaces, replaceDue: { queue: "replace", at: createEndsAt } }),
      attempts: 0,
    },
    keys: keys.map(key => ({
      ...key,
      state: "processing",
      credentials: key.credentials.map(credential => ({ idpId: idps.defaultId, ...credential, state: "processing" })),
      mail: { state: hasPinMail(key) ? "waiting" : "none", number: 0 },
      ...(origin === "v1_shipment" && { ofShipmentV1: true }),
    })),
  };
}
