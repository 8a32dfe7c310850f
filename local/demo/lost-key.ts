import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { createdV2, credentialRequestV2 } from "../../lib/connector/api/read-credential-request.ts";
import { sampleRequest } from "../start/sample-request.ts";
import type { Calls } from "./calls.ts";
import type { Narrator } from "./print.ts";
import { shippedKey } from "./shipped-key.ts";
import { showStates } from "./states.ts";

const lost = 105;
const changed = z.object({ state: z.literal(lost) });
const received = z.array(z.object({ body: z.string() }));
const failedDelivery = z.object({
  type: z.literal("fido-connector.key.delivery_failed"),
  data: z.object({ state: z.literal("lost"), serial_number: z.string() }),
});
const registrations = z.array(z.object({ displayName: z.string() }));
const read = z.object({ data: credentialRequestV2 });

/** Plays how the parcel of a complete request gets lost, and its key is replaced. Rejects if a state or response is another one. */
export async function playLostKey(
  { id, shipmentId }: { readonly id: string; readonly shipmentId: string },
  calls: Calls,
  narrator: Narrator,
  end: AbortSignal,
): Promise<void> {
  narrator.title("The parcel is lost");
  narrator.step("The carrier loses it", "The connector follows a parcel to its end, and reports it by an event.");
  await calls.peer("delivery", `shipments/${encodeURIComponent(shipmentId)}`, changed, { state: lost });
  // The next look at the parcel is due `POLL_AFTER_SECONDS` after the last one.
  await pause(1000, undefined, { signal: end });
  await calls.api("GET", "/v2/operations/process-shipments", 204);
  await calls.showPeerCalls();
  const { data: before } = read.parse(await calls.api("GET", `/v2/credential-requests/${id}`, 200));
  narrator.states({ delivery: before.shipment?.delivery?.state ?? "" });
  const events = await calls.peer("sink", "events", received);
  const event = events.map(({ body }) => failedDelivery.safeParse(JSON.parse(body)).data).find(Boolean);
  if (event === undefined) throw new Error("no event reports that the parcel is lost.");
  narrator.note(`the ordering system got ${event.type} of key ${event.data.serial_number}: ${event.data.state}`);

  narrator.step("A new key replaces it", "The order names the lost key, whose credential is removed at once.");
  const [key] = before.shipment?.shipment_items ?? [];
  const replaces = { credential_request_id: id, key_id: key?.id ?? "", reason: "lost", revoke: "now" };
  const answer = await calls.api("POST", "/v2/credential-requests", 201, { ...sampleRequest, replaces });
  const { credential_request_id: newId, shipment_id: newShipment = "" } = createdV2.parse(answer).data;
  await calls.showPeerCalls();
  const { data: after } = read.parse(await calls.api("GET", `/v2/credential-requests/${id}`, 200));
  const [state = ""] = after.shipment?.shipment_items.flatMap(each => each.credentials.map(one => one.state)) ?? [];
  narrator.states({ "lost key": state });
  const left = await calls.peer("entra", "registrations", registrations);
  if (state !== "revoked" || left.length > 0) throw new Error("the lost key can still be used.");
  narrator.note("whoever finds the lost key cannot sign in with it");

  narrator.step("The new key comes", "It takes the same path as the first one.");
  const serial = await shippedKey(newShipment, calls, narrator, end);
  await calls.api("GET", "/v2/operations/process-shipments", 204);
  await calls.api("POST", "/v2/operations/process-credential-requests", 200);
  await calls.showPeerCalls();
  await showStates(newId, ["complete", "complete", "active"], { calls, narrator });
  const [registered] = await calls.peer("entra", "registrations", registrations);
  if (!registered?.displayName.endsWith(serial)) throw new Error("the new key is not registered.");
  narrator.note(`registered at the identity provider: "${registered.displayName}"`);
}
