import * as z from "zod";
import { type ControlRoutes, withBody } from "../control.ts";
import { codedRefusal } from "../refusal.ts";
import { SABOTAGES } from "../security-key/sabotage.ts";
import type { Shipments } from "./shipments.ts";
import { keysOf, type Shipment } from "./view.ts";
import { SHIPMENT_STATES } from "./wire.ts";

const change = z.strictObject({
  /** Stays until it is changed. */
  state: z
    .int()
    .refine(state => state in SHIPMENT_STATES, "is no state of a shipment")
    .optional(),
  /** Programs the keys and ships them now. */
  ship: z.literal(true).optional(),
  /** Whether a shipped parcel has a tracking number. It has by default. */
  tracked: z.boolean().optional(),
  /** Deletes the responses. */
  purge: z.literal(true).optional(),
  /** Deletes the shipment, as a customer does: reads become 404. */
  delete: z.literal(true).optional(),
  /** null: correct responses again. */
  sabotage: z.enum(SABOTAGES).nullish(),
});

const settings = z.strictObject({ shipAfterMs: z.int().nonnegative().optional(), search: z.boolean().optional() });
const rotation = z.strictObject({ forget: z.boolean().optional() });

export type DeliveryControls = ReturnType<typeof createDeliveryControls>;

interface Chosen {
  shipAfterMs: number;
  search: boolean;
}

/** What a test or a user of the local system can do with the service, also by calls under `/_control/`. */
export function createDeliveryControls(
  shipments: Shipments,
  chosen: Chosen,
  rotateKeys: (options?: z.output<typeof rotation>) => Promise<void>,
) {
  /** Returns a shipment with all that the delivery service knows of it. It has no keys before they are programmed. */
  const seen = (shipment: Shipment) => ({
    id: shipment.id,
    customerReference: shipment.body.customer_reference,
    state: shipments.stateOf(shipment),
    keys: keysOf(shipment).flatMap(({ programmed }) => {
      if (programmed === undefined) return [];
      const { responses: _, ...key } = programmed;
      return [key];
    }),
  });
  return {
    settings: (changed: z.output<typeof settings>) => void Object.assign(chosen, changed),
    /** With `forget`, the old keys are deleted at once, instead of kept for messages in transit. */
    rotateKeys,
    /** Returns the shipments in their current states, oldest first. */
    shipments: async () => (await shipments.all()).map(seen),
    /** Returns the changed shipment; undefined if it was deleted. Rejects for an unknown id. */
    control: async (id: string, wanted: z.input<typeof change>) => {
      const { state, ship, tracked, purge, delete: gone, sabotage } = change.parse(wanted);
      if (gone) {
        shipments.remove(id);
        return undefined;
      }
      if (sabotage === "swapped") await refuseWithoutPair(shipments, id);
      const next = ship ? 103 : state;
      return seen(
        await shipments.change(id, {
          ...(next === undefined ? {} : { state: next }),
          ...(tracked === undefined ? {} : { untracked: !tracked }),
          ...(purge ? { purged: true } : {}),
          ...(sabotage === undefined ? {} : { sabotage }),
        }),
      );
    },
  };
}

async function refuseWithoutPair(shipments: Shipments, id: string) {
  const credentials = keysOf(await shipments.current(id)).flatMap(({ order }) => order.credentials);
  if (credentials.length < 2) throw codedRefusal("conflict", "only two credentials or more can be swapped");
}

/** Returns the `/_control/` routes of {@link DeliveryControls}. */
export const deliveryControlRoutes = (controls: DeliveryControls): ControlRoutes => ({
  "GET shipments": controls.shipments,
  "POST shipments/:id": withBody(change, (wanted, id) => controls.control(id, wanted)),
  "POST settings": withBody(settings, controls.settings),
  "POST rotate-keys": withBody(rotation, controls.rotateKeys),
});
