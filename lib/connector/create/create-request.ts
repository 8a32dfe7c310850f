import type { Caller } from "../../caller.ts";
import { Fault, type Problem } from "../../fault.ts";
import type { CreateFormat, SecurityKeyPath } from "../api/create-wire.ts";
import { pinMailProblems } from "../api/pin-mail-domains.ts";
import type { Decidable } from "../api/v2/create-partial.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { CreatedRequest } from "../model/draft.ts";
import { newRequestId, type RequestDraft, receivedRequest } from "../model/draft.ts";
import type { Claim } from "../model/idempotency.ts";
import { listKeyOf, peopleLists } from "../model/people-lists.ts";
import { isOnSite } from "../model/request.ts";
import { idpProblems } from "./ask-idps.ts";
import { deliveryLimitViolation } from "./delivery-limits.ts";
import { authenticateEnrollment, enroll } from "./enroll.ts";
import { orderShipment, recordOrderIntent } from "./order-shipment.ts";
import { prepareRequest } from "./prepare-request.ts";
import { startOnSite } from "./start-request.ts";

/** The caller that creates a request (decision G3). */
interface MadeBy {
  readonly createdBy?: Caller;
}

/**
 * Takes a credential request under a new id: checks it, then creates it.
 * Throws Fault as `checkRequest` and `createUnder` do.
 */
export async function createRequest<D extends RequestDraft>(
  draft: D,
  wire: CreateFormat<D> & MadeBy,
  deps: ConnectorDeps,
): Promise<CreatedRequest> {
  checkRequest(draft, wire, deps);
  return createUnder(newRequestId(deps.random), draft, wire, deps);
}

/**
 * Every check that needs nobody else and stores nothing (decision C5).
 * Throws Fault: `invalid`, `delivery_refused`.
 */
export function checkRequest<D extends RequestDraft>(
  draft: D,
  wire: CreateFormat<D>,
  deps: Pick<ConnectorDeps, "idps" | "pinMailDomains" | "rfpr">,
): void {
  const problems = requestProblems(draft, place => wire.pathOf(place, draft), deps);
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
  const violation = deliveryLimitViolation(draft);
  if (violation !== undefined) {
    throw new Fault("delivery_refused", violation.message, {
      data: { code: violation.code, message: violation.message },
    });
  }
}

/** Returns what the deployment's settings say is wrong with a request. */
export const requestProblems = (
  draft: Decidable,
  pathOf: (place: SecurityKeyPath) => string,
  deps: Pick<ConnectorDeps, "idps" | "pinMailDomains" | "rfpr">,
): readonly Problem[] => [
  ...enrollmentProblems(draft, deps.rfpr, pathOf),
  ...idpProblems(draft, deps.idps, pathOf),
  ...pinMailProblems(draft.emailsTo, deps.pinMailDomains, pathOf),
];

/**
 * Creates a checked request under an id chosen beforehand (decision C6): stores it, asks the IdPs, hands authenticators to the
 * enrollment side, marks it, orders the shipment last because that can not be taken back. Every step leaves a row from which the job
 * can tell what may have happened.
 * Throws Fault: `idp_refused`, `delivery_refused`, `invalid` by the enrollment side, `unavailable`, `internal`.
 */
export async function createUnder<D extends RequestDraft>(
  id: string,
  draft: D,
  wire: CreateFormat<D> & MadeBy & { readonly claim?: Pick<Claim, "scope" | "claimedAt"> },
  deps: ConnectorDeps,
): Promise<CreatedRequest> {
  const { origin, claim, createdBy } = wire;
  const { now, intervals: timing, requests, idps } = deps;
  const rows = receivedRequest(draft, {
    id,
    origin,
    claim: claim?.scope,
    createdBy,
    // A claim is judged by its age, so the time that a create has counts from there.
    now: claim?.claimedAt ?? now(),
    receivedMaxAge: timing.receivedMaxAge,
    defaultIdp: idps.defaultId,
  });
  await Promise.all([
    rows.request.due && requests.schedule(rows.request.due, id),
    requests.enter(listKeyOf(rows.request), [{ state: rows.request.state }, ...peopleLists(rows.request, rows.keys)]),
  ]);
  const stored = await requests.insert(rows.request, rows.keys);
  const onSite = rows.keys.some(isOnSite);
  if (onSite) await authenticateEnrollment(stored, deps);
  const prepared = await prepareRequest(stored, place => wire.pathOf(place, draft), deps);
  const enrolled = onSite ? await enroll(stored, prepared, deps) : stored;
  if (rows.request.shipment === undefined) return startOnSite(enrolled, deps);
  return orderShipment(await recordOrderIntent(enrolled, prepared, deps), deps);
}

/** On-site authenticators need an enrollment service. */
const enrollmentProblems = (
  { keys }: Pick<Decidable, "keys">,
  rfpr: ConnectorDeps["rfpr"],
  pathOf: (place: SecurityKeyPath) => string,
): readonly Problem[] =>
  rfpr === undefined && keys.some(isOnSite)
    ? [
        {
          path: pathOf({ field: "authenticators" }),
          reason: "are not served: this deployment has no enrollment service",
        },
      ]
    : [];
