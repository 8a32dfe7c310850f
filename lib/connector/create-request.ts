import { Fault, type Problem } from "../fault.ts";
import { type Instant, plus } from "../time.ts";
import { askIdps, idpFault, idpProblems } from "./ask-idps.ts";
import type { CreateWire, Place } from "./create-wire.ts";
import { deliveryLimitViolation } from "./delivery-limits.ts";
import type { Claim } from "./idempotency-claim.ts";
import { giveUp } from "./give-up.ts";
import { type NewRequest, newRequestId, received } from "./new-request.ts";
import { type Marked, orderShipment, transportFault } from "./order-shipment.ts";
import { outcome } from "./outcome.ts";
import { pinMailProblems } from "./pin-mail-domains.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { prepareKey } from "./prepare-keys.ts";
import type { Created } from "./start.ts";
import { write } from "./write.ts";

/**
 * Takes a credential request under a new id: checks it, then creates it.
 * Throws Fault as `checkRequest` and `createUnder` do.
 */
export async function createRequest<D extends NewRequest>(
  draft: D,
  wire: CreateWire<D>,
  deps: ConnectorDeps,
): Promise<Created> {
  checkRequest(draft, wire, deps);
  return createUnder(newRequestId(deps.random), draft, wire, deps);
}

/**
 * Every check that needs nobody else and stores nothing (decision C5).
 * Throws Fault: `invalid`, `delivery_refused`.
 */
export function checkRequest<D extends NewRequest>(
  draft: D,
  wire: CreateWire<D>,
  deps: Pick<ConnectorDeps, "idps" | "pinMailDomains">,
): void {
  const pathOf = (place: Place) => wire.pathOf(place, draft);
  const problems = [
    ...enrollmentProblems(draft, pathOf),
    ...idpProblems(draft, deps.idps, pathOf),
    ...pinMailProblems(draft.emailsTo, deps.pinMailDomains, pathOf),
  ];
  if (problems.length > 0) throw new Fault("invalid", "The request is not valid.", { problems });
  const violation = deliveryLimitViolation(draft);
  if (violation !== undefined) {
    throw new Fault("delivery_refused", violation.message, {
      data: { code: violation.code, message: violation.message },
    });
  }
}

/**
 * Creates a checked request under an id chosen beforehand (decision C6): stores it, asks the IdPs, marks it, orders the shipment
 * last because that can not be taken back. Every step leaves a row from which the job can tell what may have happened.
 * Throws Fault: `idp_refused`, `delivery_refused`, `unavailable`, `internal`.
 */
export async function createUnder(
  id: string,
  draft: NewRequest,
  { origin, claim }: Pick<CreateWire, "origin"> & { readonly claim?: Pick<Claim, "scope" | "claimedAt"> },
  deps: ConnectorDeps,
): Promise<Created> {
  const { now, timing, requests, idps } = deps;
  const rows = received(draft, {
    id,
    origin,
    claim: claim?.scope,
    // A claim is judged by its age, so the time that a create has counts from there.
    now: claim?.claimedAt ?? now(),
    receivedMaxAge: timing.receivedMaxAge,
    defaultIdp: idps.defaultId,
  });
  if (rows.request.due !== undefined) await requests.schedule(rows.request.due, id);
  const stored = await requests.insert(rows.request, rows.keys);
  return orderShipment(await mark(stored, deps), deps);
}

/** On-site authenticators need an enrollment service. */
const enrollmentProblems = ({ keys }: NewRequest, pathOf: (place: Place) => string): readonly Problem[] =>
  keys.some(({ place }) => place === "authenticator")
    ? [
        {
          path: pathOf({ field: "authenticators" }),
          reason: "are not served: this deployment has no enrollment service",
        },
      ]
    : [];

/** A create that has used up its time stops at its next write and leaves the rest to the job (decision C6). */
const tooLate = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfter: 30 });

/** Asks the IdPs and stores what they gave, together with the delivery mark. */
async function mark(stored: Loaded, deps: ConnectorDeps): Promise<Marked> {
  const keys = stored.keys.map(({ value }) => value);
  const [asked, transport] = await Promise.all([askIdps(keys, deps), outcome(deps.delivery.transportKeys())]);
  const { challenges, failure } = asked;
  const refuse = (fault: Fault) => giveUp(stored, fault, deps, challenges);
  if (failure !== undefined) throw await refuse(idpFault(failure));
  if ("error" in transport) throw await refuse(transportFault(transport.error));

  const { id } = stored.request.value;
  const preparing = await outcome(Promise.all(keys.map(key => prepareKey(id, key, challenges, transport.value, deps))));
  if ("error" in preparing) throw await refuse(faultOf(preparing.error));
  const prepared = preparing.value;
  const markedAt = deps.now();
  if (markedAt > plus(stored.request.value.createdAt, deps.timing.create)) throw tooLate();
  const request = { ...stored.request.value, delivery: { sentAt: markedAt } };
  const keyRows = prepared.map(({ key }) => key);
  const loaded = (await write(stored, { request, keys: keyRows }, deps)) ?? (await ownMark(id, markedAt, deps));
  if (loaded === undefined) throw tooLate();
  return { loaded, orders: prepared.map(({ order }) => order), markedAt };
}

/** The request where the mark that it carries is ours: a write whose answer got lost looks as if another had been faster. */
async function ownMark(id: string, markedAt: Instant, { requests }: ConnectorDeps): Promise<Loaded | undefined> {
  const loaded = await requests.load(id);
  return loaded?.request.value.delivery?.sentAt === markedAt ? loaded : undefined;
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
