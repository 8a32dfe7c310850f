import { FIRMWARE, type KeyOrder, type ProgrammedKey } from "../security-key/program.ts";
import { type KeyResponses, type Sabotage, sabotaged, type WrongAnswer } from "../security-key/sabotage.ts";
import { SHIPMENT_STATES, type ShipmentBody } from "./wire.ts";

export interface ShipmentKey {
  readonly order: KeyOrder;
  programmed?: ProgrammedKey;
}

type WireItem = ShipmentBody["shipment_items"][number];

/** A shipment as the service stores it. */
export interface Shipment {
  readonly id: string;
  /** ms since 1970 */
  readonly requestedAt: number;
  readonly body: Omit<ShipmentBody, "shipment_items">;
  readonly items: readonly (Omit<WireItem, "product_customizations"> & { readonly keys: readonly ShipmentKey[] })[];
  /** Set by shipping or by a control call; until then the clock decides. */
  state?: number;
  sabotage?: Sabotage;
  purged?: boolean;
  untracked?: boolean;
}

export const keysOf = (shipment: Shipment): readonly ShipmentKey[] => shipment.items.flatMap(({ keys }) => keys);

/** Programs a key again, so that its responses are wrong in one way. */
export type Reprogram = (order: KeyOrder, programmed: ProgrammedKey, wrong: WrongAnswer) => Promise<KeyResponses>;

/** Returns a shipment as the API shows it in a state (docs/peers/delivery.md). */
export async function shipmentView(shipment: Shipment, state: number, reprogram: Reprogram) {
  const data = await productData(shipment, reprogram);
  const { customer_reference, recipient, mailing_address } = shipment.body;
  return {
    shipment_id: shipment.id,
    shipment_request_date: new Date(shipment.requestedAt).toISOString(),
    customer_reference,
    ...(state >= SHIPPED && !shipment.untracked && trackingOf(shipment)),
    shipment_state: { shipment_state_id: state, shipment_state_message: SHIPMENT_STATES[state] },
    recipient,
    mailing_address,
    shipment_items: shipment.items.map(({ product_id, inventory_product_id, product_quantity, keys }) => ({
      product_id,
      inventory_product_id,
      product_quantity,
      product_data: data.splice(0, keys.length),
    })),
  };
}

/** The state from which a parcel has a tracking number. */
export const SHIPPED = 103;

const trackingOf = ({ id }: Shipment) => {
  const number = `SIM-${id.slice(0, 12)}`;
  return { tracking_number: number, tracking_link: `https://carrier.example/track/${number}` };
};

/** Returns the keys in order; none until all are programmed. */
async function productData(shipment: Shipment, reprogram: Reprogram) {
  const { purged, sabotage } = shipment;
  const keys = keysOf(shipment).flatMap(({ order, programmed }) =>
    programmed === undefined ? [] : [{ order, programmed }],
  );
  if (keys.length < keysOf(shipment).length) return [];
  const honest = keys.map(({ programmed }) => programmed.responses);
  const responses = await sabotaged(honest, sabotage, (at, wrong) => {
    const { order, programmed } = keys[at] as (typeof keys)[number];
    return reprogram(order, programmed, wrong);
  });
  return responses.map(({ credentials, pin }, at) => ({
    serial_number: keys[at]?.programmed.serial,
    firmware_version: FIRMWARE,
    fido_pin_response: purged ? undefined : pin,
    fido_credential_responses: purged ? [] : credentials,
  }));
}
