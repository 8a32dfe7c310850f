import type { Caller } from "../../platform/caller.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Claim } from "../model/idempotency.ts";
import { isOnSite } from "../model/security-key.ts";
import { requireReplaceable } from "./check-replaced-key.ts";
import { checkRequest } from "./check-request.ts";
import { type CreatedIds, newRequestId, type RequestDraft, receivedRequest } from "./draft.ts";
import { authenticateEnrollment, enroll } from "./enroll.ts";
import { orderShipment, recordOrderIntent } from "./order-shipment.ts";
import { prepareRequest } from "./prepare-request.ts";
import { startWithoutShipment } from "./start-request.ts";

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
  return orderShipment(await recordOrderIntent(enrolled, prepared, deps), deps);
}
