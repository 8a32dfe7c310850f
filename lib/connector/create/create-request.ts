import type { Caller } from "../../platform/caller.ts";
import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import type { BodyFormat, DraftLocation } from "../api/body-format.ts";
import { pinMailProblems } from "../api/pin-mail-domains.ts";
import type { Decidable } from "../api/v2/create-partial.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type CreatedIds, newRequestId, type RequestDraft, receivedRequest } from "../model/draft.ts";
import type { Claim } from "../model/idempotency.ts";
import { isOnSite } from "../model/security-key.ts";
import { requireReplaceable } from "../replace/check-replaced-key.ts";
import { idpProblems } from "./ask-idps.ts";
import { deliveryLimitViolations } from "./delivery-limits.ts";
import { authenticateEnrollment, enroll } from "./enroll.ts";
import { orderShipment, recordOrderIntent } from "./order-shipment.ts";
import { prepareRequest } from "./prepare-request.ts";
import { startWithoutShipment } from "./start-request.ts";

/** What the deployment's settings say about requests. */
type SettingDeps = Pick<ConnectorDeps, "idps" | "pinMailDomains" | "pinMinLength" | "rfpr">;

type PathOf = (field: DraftLocation) => string;

/** The caller that creates a request; stored with it. */
interface CreatedBy {
  readonly createdBy?: Caller;
}

/**
 * Validates a credential request and creates it under a new id.
 * Throws Fault as `checkRequest` and `createWithId` do.
 */
export async function createRequest<D extends RequestDraft>(
  draft: D,
  source: BodyFormat<D> & CreatedBy,
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  checkRequest(draft, source, deps);
  await requireReplaceable(draft, deps);
  return createWithId(newRequestId(deps.random), draft, source, deps);
}

/**
 * Validates a request against the settings of the deployment and the limits of the delivery service. Calls no peer and stores nothing.
 * Throws Fault `invalid` or `delivery_refused`.
 */
export function checkRequest<D extends RequestDraft>(draft: D, format: BodyFormat<D>, deps: SettingDeps): void {
  const problems = requestProblems(draft, field => format.pathOf(field, draft), deps);
  if (problems.length > 0) throw invalidRequest(problems);
  const [violation] = deliveryLimitViolations(draft);
  if (violation !== undefined) {
    throw new Fault("delivery_refused", violation.message, {
      data: { code: violation.code, message: violation.message },
    });
  }
}

/** Returns the problems of a request that depend on the deployment's settings: enrollment service, IdPs, PIN email domains and PIN length. */
export const requestProblems = (draft: Decidable, pathOf: PathOf, deps: SettingDeps): readonly Problem[] => [
  ...enrollmentProblems(draft, deps.rfpr, pathOf),
  ...idpProblems(draft, deps.idps, pathOf),
  ...pinMailProblems(draft.emailsTo, deps.pinMailDomains, pathOf),
  ...pinLengthProblems(draft, deps.pinMinLength, pathOf),
];

/**
 * Creates a validated request under `id`: stores it, asks the IdPs, sends authenticators to the pre-registration API, writes the order
 * intent, and orders the shipment last, because an order cannot be withdrawn. After a crash at any step, the job knows from the rows
 * what may have been done (C6).
 * Throws Fault `idp_refused`, `delivery_refused`, `invalid` (refused by the pre-registration API), `unavailable` or `internal`.
 */
export async function createWithId<D extends RequestDraft>(
  id: string,
  draft: D,
  source: BodyFormat<D> & CreatedBy & { readonly claim?: Pick<Claim, "scope" | "claimedAt"> },
  deps: ConnectorDeps,
): Promise<CreatedIds> {
  const { origin, claim, createdBy } = source;
  const { now, intervals, requests, idps, log } = deps;
  const rows = receivedRequest(draft, {
    id,
    origin,
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
  const prepared = await prepareRequest(stored, field => source.pathOf(field, draft), deps);
  const enrolled = onSite ? await enroll(stored, prepared, deps) : stored;
  if (rows.request.shipment === undefined) return startWithoutShipment(enrolled, deps);
  return orderShipment(await recordOrderIntent(enrolled, prepared, deps), deps);
}

/** Returns a problem if the request has authenticators and the deployment has no enrollment service. */
const enrollmentProblems = (
  { keys }: Pick<Decidable, "keys">,
  rfpr: ConnectorDeps["rfpr"],
  pathOf: PathOf,
): readonly Problem[] =>
  rfpr === undefined && keys.some(isOnSite)
    ? [
        {
          path: pathOf({ field: "authenticators" }),
          reason: "are not served: this deployment has no enrollment service",
        },
      ]
    : [];

/** Returns a problem for each PIN that is shorter than the deployment allows. The security keys of one item share the field. */
function pinLengthProblems({ keys }: Pick<Decidable, "keys">, minLength: number, pathOf: PathOf): readonly Problem[] {
  const short = keys.filter(({ pinRequest }) => pinRequest !== undefined && pinRequest.length < minLength);
  const paths = new Set(short.map(({ id }) => pathOf({ field: "pinLength", keyId: id })));
  return [...paths].map(path => ({
    path,
    reason: `must be at least ${minLength}, the shortest PIN of this deployment`,
  }));
}
