import * as z from "zod";
import { pinMailMessage } from "./pin-mail-domains.ts";
import { present } from "./present.ts";
import type { CredentialRequest, Key } from "./request.ts";

/** Version 1 shipment status (specification section 2, decision C9). */
export const shipmentStatusV1 = z.object({
  shipment_id: z.string(),
  shipment_state: z.enum(["ongoing", "processing", "complete", "pending_pin_sending"]),
  error_kind: z.literal("GENERAL").optional().describe("Only after a processing error."),
  error_message: z.string().optional().describe("Detail from the delivery service or the IdP."),
});

/** The version 1 status of a request's shipment, whichever version made it (decisions C4, C9). */
export function readShipmentV1(
  shipmentId: string,
  request: CredentialRequest,
  keys: readonly Key[],
  now: string,
): z.output<typeof shipmentStatusV1> {
  const shipped = keys.filter(({ place }) => place === "shipment");
  const problem = processingError(request, shipped);
  return present({
    shipment_id: shipmentId,
    shipment_state: shipmentState(request, shipped, now),
    error_kind: problem === undefined ? undefined : ("GENERAL" as const),
    error_message: problem,
  });
}

function shipmentState(
  request: CredentialRequest,
  keys: readonly Key[],
  now: string,
): z.output<typeof shipmentStatusV1>["shipment_state"] {
  if (keys.every(({ state }) => state === "complete")) {
    const unsent = keys.some(
      ({ mail }) => mail.state === "given_up" || (mail.state === "due" && mail.errorMessage !== undefined),
    );
    if (unsent) return "pending_pin_sending";
    if (keys.every(({ mail }) => mail.state !== "due")) return "complete";
  }
  const held = [request, ...keys].some(({ lease }) => lease !== undefined && lease.until > now);
  return held ? "processing" : "ongoing";
}

function processingError(request: CredentialRequest, keys: readonly Key[]): string | undefined {
  const ofCredentials = keys.flatMap(({ credentials }) => credentials.map(({ errorMessage }) => errorMessage));
  return [...ofCredentials, ...keys.map(({ mail }) => pinMailMessage(mail)), request.errorMessage].find(
    message => message !== undefined,
  );
}
