import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import type { ProgrammedKey } from "../security-key/program.ts";
import type { Shipments } from "./shipments.ts";
import { keysOf, SABOTAGES, type Shipment } from "./view.ts";
import { DeliveryError, SHIPMENT_STATES } from "./wire.ts";

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

type DeliveryChange = z.input<typeof change>;
type DeliverySettings = z.input<typeof settings>;

/** A shipment with all that the delivery service knows of it. */
interface DeliveredShipment {
  readonly id: string;
  readonly customerReference: string | undefined;
  readonly state: number;
  /** Empty before they are programmed. */
  readonly keys: readonly Omit<ProgrammedKey, "data">[];
}

/** What a test or a user of the local system can do with the service, also by calls under `/_control/`. */
export interface DeliveryControls {
  /** Returns the shipments in their current states, oldest first. */
  shipments(): Promise<readonly DeliveredShipment[]>;
  /** Returns the changed shipment; undefined if it was deleted. Rejects for an unknown id. */
  control(id: string, change: DeliveryChange): Promise<DeliveredShipment | undefined>;
  settings(changed: DeliverySettings): void;
  /** @param forget whether the old keys are deleted at once, instead of kept for messages in transit */
  rotateKeys(options?: z.input<typeof rotation>): Promise<void>;
}

export function createDeliveryControls(
  shipments: Shipments,
  { settings, rotateKeys }: Pick<DeliveryControls, "settings" | "rotateKeys">,
): DeliveryControls {
  const seen = (shipment: Shipment): DeliveredShipment => ({
    id: shipment.id,
    customerReference: shipment.body.customer_reference,
    state: shipments.stateOf(shipment),
    keys: keysOf(shipment).flatMap(({ programmed }) => {
      if (programmed === undefined) return [];
      const { data: _, ...key } = programmed;
      return [key];
    }),
  });
  return {
    settings,
    rotateKeys,
    shipments: async () => (await shipments.all()).map(seen),
    control: async (id, wanted) => {
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
  if (credentials.length < 2) throw new DeliveryError("conflict", "only two credentials or more can be swapped");
}

/** Returns the `/_control/` routes of {@link DeliveryControls}. */
export async function deliveryControlRoutes(
  controls: DeliveryControls,
  { method, path, body }: HttpCall,
): Promise<HttpAnswer | undefined> {
  const [, id] = path.match(/^\/_control\/shipments\/([^/]+)$/) ?? [];
  if (method === "POST" && id !== undefined)
    return withControlBody(change, body, async wanted => {
      const shipment = await controls.control(id, wanted);
      return shipment === undefined ? { status: 204 } : { status: 200, body: shipment };
    });
  switch (`${method} ${path}`) {
    case "GET /_control/shipments":
      return { status: 200, body: await controls.shipments() };
    case "POST /_control/settings":
      return withControlBody(settings, body, changed => {
        controls.settings(changed);
        return { status: 204 };
      });
    case "POST /_control/rotate-keys":
      return withControlBody(rotation, body, async options => {
        await controls.rotateKeys(options);
        return { status: 204 };
      });
    default:
      return undefined;
  }
}
