import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import type { Calls } from "./calls.ts";
import type { Narrator } from "./print.ts";

/** Shipments as the simulated delivery service lists them. */
export const shipments = z.array(
  z.object({ id: z.string(), state: z.number(), keys: z.array(z.object({ serial: z.string(), pin: z.string() })) }),
);

/** Names of the delivery service's state numbers. */
const shipmentStates: Readonly<Record<number, string>> = {
  101: "received",
  102: "in production",
  103: "programmed and shipped",
};

/** Follows a shipment until its key is made, and prints its states. Returns the key's serial number. */
export async function shippedKey(id: string, calls: Calls, narrator: Narrator, end: AbortSignal): Promise<string> {
  let shown: number | undefined;
  for (;;) {
    const shipment = (await calls.peer("delivery", "shipments", shipments)).find(each => each.id === id);
    if (shipment === undefined) throw new Error("the delivery service does not have the shipment.");
    if (shipment.state !== shown) narrator.note(`shipment ${shipmentStates[shipment.state] ?? shipment.state}`);
    shown = shipment.state;
    const [key] = shipment.keys;
    if (shown === 103 && key !== undefined) return key.serial;
    await wait(100, undefined, { signal: end });
  }
}
