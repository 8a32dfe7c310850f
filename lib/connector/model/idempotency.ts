import { createHash, createHmac } from "node:crypto";
import * as z from "zod";
import type { Caller } from "../../platform/caller.ts";
import { omitUndefined } from "../../platform/collections.ts";
import { faultKinds } from "../../platform/fault.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { type CredentialRequest, shipmentIdOf } from "./request.ts";

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
    /** The outcome of the create (C6). Absent while the call runs, and where only the row of the request says it. */
    answer: z
      .union([
        z.object({ created: z.object({ requestId: text, shipmentId: text.exactOptional() }) }),
        /** What is stored of a refusal, so that a repeat gets the same response. */
        z.object({
          refused: z.object({
            kind: z.enum(faultKinds),
            message: text,
            data: z.record(text, z.unknown()).exactOptional(),
            problems: z.array(z.object({ path: text, reason: text, code: text.exactOptional() })).exactOptional(),
          }),
        }),
      ])
      .exactOptional(),
  });
export type Claim = Immutable<z.output<ReturnType<typeof claimSchema>>>;
export type Answer = NonNullable<Claim["answer"]>;

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

/** The error message of a request whose order was never confirmed. */
export const neverConfirmedMessage =
  "The delivery service never confirmed the shipment. Search there for the customer reference before you order again.";

/** Returns the outcome of a create by the row of its request, which is not `received` any more. */
export function answerOf(request: CredentialRequest): Answer {
  const { id: requestId, state, shipment } = request;
  const shipmentId = shipmentIdOf(request);
  if (shipment === undefined || shipmentId !== undefined) return { created: omitUndefined({ requestId, shipmentId }) };
  const data = { credential_request_id: requestId };
  return state === "cancelled"
    ? { refused: { kind: "conflict", message: "The request of this Idempotency-Key was cancelled.", data } }
    : { refused: { kind: "internal", message: neverConfirmedMessage, data } };
}

/**
 * Returns what a claim keeps once its request is removed. Of a refusal only the kind and the code: the rest may have a
 * peer's text about a person, who can no longer be found by the request.
 */
export function answerOfRemoved({ answer }: Claim, request: CredentialRequest): Answer | undefined {
  if (answer === undefined) return request.neverSent === true ? undefined : answerOf(request);
  if ("created" in answer) return answer;
  const { kind, data } = answer.refused;
  const message = "The first call with this Idempotency-Key was refused; the details were deleted with its request.";
  return { refused: { kind, message, ...(data?.code !== undefined && { data: { code: data.code, message } }) } };
}

/** What a claim keeps of a request that was erased. */
export const answerOfErased: Answer = {
  refused: { kind: "conflict", message: "The request of this Idempotency-Key was erased." },
};
