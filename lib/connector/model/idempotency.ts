import { createHash, createHmac } from "node:crypto";
import * as z from "zod";
import type { Caller } from "../../platform/caller.ts";
import { type Fault, faultKinds } from "../../platform/fault.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { CredentialRequest } from "./request.ts";

const text = z.string();

/** Returns the schema of the columns of a claim: the use of an Idempotency-Key by one caller at one endpoint. */
export const claimSchema = () =>
  z.object({
    /** SHA-256 of caller, endpoint and Idempotency-Key, none of which is stored in clear. */
    scope: text,
    fingerprint: text,
    /** Chosen before the request is stored. */
    requestId: text,
    claimedAt: storedInstant,
    /** The time from which the Idempotency-Key may be used again. */
    endsAt: storedInstant,
    /**
     * The outcome of the create (C6). Absent while the call runs, and after a crash. `unreconciled`: the order was not
     * answered, and the request's row decides. `erased`: the request was erased, and with it the answer.
     */
    answer: z
      .union([
        z.object({ created: z.object({ requestId: text, shipmentId: text.exactOptional() }) }),
        /** What of a refusal is stored, so that a repeat gets the same response. */
        z.object({
          refused: z.object({
            kind: z.enum(faultKinds),
            message: text,
            data: z.record(text, z.unknown()).exactOptional(),
            problems: z.array(z.object({ path: text, reason: text, code: text.exactOptional() })).exactOptional(),
          }),
        }),
        z.literal(["unreconciled", "erased"]),
      ])
      .exactOptional(),
  });
export type Claim = Immutable<z.output<ReturnType<typeof claimSchema>>>;
export type KeptAnswer = NonNullable<Claim["answer"]>;
type KeptRefusal = Extract<KeptAnswer, { readonly refused: unknown }>["refused"];

/** Returns what is stored of a refusal. */
export const toKeptRefusal = ({ kind, message, data, problems }: Fault): KeptRefusal => ({
  kind,
  message,
  ...(data && { data }),
  ...(problems.length > 0 && { problems }),
});

/**
 * Returns what is stored of a refusal once its request is removed: the kind and the code. The rest may have a peer's
 * text about a person, who can no longer be found by the request.
 */
export const withoutPeerText = ({ kind, data }: KeptRefusal): KeptRefusal => {
  const message = "The first call with this Idempotency-Key was refused; the details were deleted with its request.";
  return { kind, message, ...(data?.code !== undefined && { data: { code: data.code, message } }) };
};

/** Returns the scope of an Idempotency-Key: caller, with its subject, and endpoint (G3). */
export const scopeOf = (
  origin: CredentialRequest["origin"],
  { kind, application, subject }: Caller,
  idempotencyKey: string,
): string =>
  createHash("sha256")
    .update(JSON.stringify([origin, kind, application, subject ?? null, idempotencyKey]))
    .digest("hex");

/**
 * Returns the HMAC of a parsed body, independent of the order of its fields. It is keyed with the Idempotency-Key,
 * which is not stored, so that a reader of the storage cannot test guesses of addresses and telephone numbers against
 * it.
 */
export const fingerprintOf = (draft: object, idempotencyKey: string): string =>
  createHmac("sha256", idempotencyKey).update(JSON.stringify(draft, sorted)).digest("base64url");

const sorted = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

type Answered = { readonly is: "answered"; readonly answer: Exclude<KeptAnswer, string> };

/** The verdict on a claim alone. `look` means that the row of its request decides. */
type ClaimVerdict = Answered | { readonly is: "free" | "running" | "other_body" | "erased" | "look" };

/**
 * The verdict on a claim by the row of its request.
 * - `free`: nothing was ordered, so the caller that takes over the claim by its ETag may create again
 * - `abandoned`: like `free`, after the row was rewritten by its ETag, so that a handler that still runs fails to write
 *   its order intent
 * - `unreconciled`: the order was sent, and it is not known yet whether it was accepted
 * - `never_confirmed`: the look-up has ended without finding the order
 */
type RequestVerdict =
  | Answered
  | { readonly is: "free" | "abandoned" | "unreconciled" | "cancelled" }
  | { readonly is: "never_confirmed"; readonly reason: string };

/**
 * Returns the verdict on a stored claim.
 * @param call `runningMs`: age at which a call without an answer counts as stopped
 */
export function judgeClaim(
  { endsAt, fingerprint, answer, claimedAt }: Claim,
  call: { readonly fingerprint: string; readonly now: Instant; readonly runningMs: number },
): ClaimVerdict {
  if (endsAt <= call.now) return { is: "free" };
  if (fingerprint !== call.fingerprint) return { is: "other_body" };
  if (answer === "erased") return { is: "erased" };
  if (answer === "unreconciled") return { is: "look" };
  if (answer !== undefined) return { is: "answered", answer };
  return { is: between(claimedAt, call.now) > call.runningMs ? "look" : "running" };
}

/** Returns the verdict on the request of a claim whose create handler failed or stopped. */
export function judgeRequest(request: CredentialRequest | undefined): RequestVerdict {
  if (request === undefined || request.neverSent === true) return { is: "free" };
  const { id, state, delivery } = request;
  if (state === "received") return { is: delivery?.sentAt === undefined ? "abandoned" : "unreconciled" };
  if (request.shipment !== undefined && delivery?.shipment === undefined) {
    if (state === "cancelled") return { is: "cancelled" };
    return { is: "never_confirmed", reason: request.errorMessage ?? "The order was never confirmed." };
  }
  const shipmentId = delivery?.shipment?.id;
  return { is: "answered", answer: { created: { requestId: id, ...(shipmentId !== undefined && { shipmentId }) } } };
}
export type FinalVerdict = Exclude<ClaimVerdict | RequestVerdict, { readonly is: "look" | "abandoned" }>;
