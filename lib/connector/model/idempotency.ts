import { createHash, createHmac } from "node:crypto";
import type { Caller } from "../../caller.ts";
import type { Fault } from "../../fault.ts";
import { between, type Instant } from "../../time.ts";
import type { CreatedIds } from "./draft.ts";
import type { CredentialRequest, Origin } from "./request.ts";

/** What a create with an Idempotency-Key came to, as far as it is kept (decision C6). */
export type KeptAnswer =
  | { readonly created: CreatedIds }
  | { readonly refused: Pick<Fault, "kind" | "message"> & { readonly data?: Fault["data"] } }
  /** The order was not answered: the request's row tells. */
  | "unreconciled"
  /** The request was erased, with whatever had been answered. */
  | "erased";

/** One caller's use of a key at one endpoint. */
export interface Claim {
  /** SHA-256 of caller, endpoint and key: none of them is kept in clear. */
  readonly scope: string;
  readonly fingerprint: string;
  /** Chosen before the request is stored. */
  readonly requestId: string;
  readonly claimedAt: Instant;
  /** From then on the key is free again. */
  readonly endsAt: Instant;
  /** Absent while the call runs, or where it crashed. */
  readonly answer?: KeptAnswer;
}

/** Names a key of one caller at one endpoint: two subjects of one application are two callers (decision G3). */
export const scopeOf = (origin: Origin, { kind, application, subject }: Caller, key: string): string =>
  createHash("sha256")
    .update(JSON.stringify([origin, kind, application, subject ?? null, key]))
    .digest("hex");

/**
 * Tells bodies apart by what was understood of them, whatever the order of their fields. Keyed with the Idempotency-Key, which is
 * not stored: whoever reads the storage cannot try out addresses and telephones against it.
 */
export const fingerprintOf = (draft: object, key: string): string =>
  createHmac("sha256", key).update(JSON.stringify(draft, sorted)).digest("base64url");

const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

type Answered = { readonly is: "answered"; readonly answer: Exclude<KeptAnswer, string> };

/** What a claim says by itself; `look`: its request's row has to tell. */
export type ClaimVerdict = Answered | { readonly is: "free" | "running" | "other_body" | "erased" | "look" };

/**
 * What the row of a claim's request says.
 * - `free`: nothing came of the call, so that it may be made again by whoever takes the claim over by its version
 * - `abandoned`: as `free`, once the row was rewritten by its version, so that a creator still at work loses its delivery mark
 * - `unreconciled`: the order was sent, and nobody knows yet whether it was taken
 * - `never_confirmed`: that was never known, and is not looked up any more
 */
export type RequestVerdict =
  | Answered
  | { readonly is: "free" | "abandoned" | "unreconciled" | "cancelled" }
  | { readonly is: "never_confirmed"; readonly reason: string };

/**
 * Judges a claim that is there (decision C6).
 * @param runningFor milliseconds after which a call that left no answer is taken for dead
 */
export function judgeClaim(
  { endsAt, fingerprint, answer, claimedAt }: Claim,
  call: { readonly fingerprint: string; readonly now: Instant; readonly runningFor: number },
): ClaimVerdict {
  if (endsAt <= call.now) return { is: "free" };
  if (fingerprint !== call.fingerprint) return { is: "other_body" };
  if (answer === "erased") return { is: "erased" };
  if (answer === "unreconciled") return { is: "look" };
  if (answer !== undefined) return { is: "answered", answer };
  return { is: between(claimedAt, call.now) > call.runningFor ? "look" : "running" };
}

/** Judges the request of a claim whose creator has failed or is taken for dead (decision C6). */
export function judgeRequest(request: CredentialRequest | undefined): RequestVerdict {
  if (request === undefined || request.neverSent === true) return { is: "free" };
  const { id, state, delivery } = request;
  if (state === "received") return { is: delivery?.sentAt === undefined ? "abandoned" : "unreconciled" };
  if (request.shipment !== undefined && delivery?.shipmentId === undefined) {
    if (state === "cancelled") return { is: "cancelled" };
    return { is: "never_confirmed", reason: request.errorMessage ?? "The order was never confirmed." };
  }
  const { shipmentId } = delivery ?? {};
  return { is: "answered", answer: { created: { requestId: id, ...(shipmentId !== undefined && { shipmentId }) } } };
}
export type FinalVerdict = Exclude<ClaimVerdict | RequestVerdict, { readonly is: "look" | "abandoned" }>;
