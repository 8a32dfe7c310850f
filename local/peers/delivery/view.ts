import type { KeyOrder, ProgrammedKey, WrongAnswer } from "../security-key/program.ts";
import { type ProductData, SHIPMENT_STATES, type ShipmentBody } from "./wire.ts";

/** `garbage`: not a JWE. `swapped`: every response at the position of another credential. */
export const SABOTAGES = ["wrong-signature", "wrong-key", "other-request", "garbage", "swapped"] as const;
export type Sabotage = (typeof SABOTAGES)[number];

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

/** Programs a key again, so that its response is wrong in one way. */
export type Reprogram = (order: KeyOrder, programmed: ProgrammedKey, wrong: WrongAnswer) => Promise<ProgrammedKey>;

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
async function productData(shipment: Shipment, reprogram: Reprogram): Promise<ProductData[]> {
  const keys = keysOf(shipment).flatMap(({ order, programmed }) =>
    programmed === undefined ? [] : [{ order, programmed }],
  );
  if (keys.length < keysOf(shipment).length) return [];
  const honest = keys.map(({ programmed }) => programmed.data);
  if (shipment.purged)
    return honest.map(({ fido_pin_response: _, ...data }) => ({ ...data, fido_credential_responses: [] }));
  switch (shipment.sabotage) {
    case undefined:
      return honest;
    case "garbage":
      return replaced(honest, () => "garbage");
    case "swapped":
      return swapped(honest);
    default: {
      const { sabotage } = shipment;
      const wrong = await Promise.all(keys.map(key => reprogram(key.order, key.programmed, sabotage)));
      return wrong.map(({ data }) => data);
    }
  }
}

const swapped = (keys: readonly ProductData[]) => {
  const pins = rotated(keys.flatMap(({ fido_pin_response }) => fido_pin_response ?? []));
  const credentials = rotated(keys.flatMap(({ fido_credential_responses }) => fido_credential_responses));
  return replaced(keys, kind => (kind === "pin" ? pins : credentials).shift() ?? "");
};

const replaced = (keys: readonly ProductData[], response: (kind: "pin" | "credential") => string): ProductData[] =>
  keys.map(key => ({
    ...key,
    fido_credential_responses: key.fido_credential_responses.map(() => response("credential")),
    ...(key.fido_pin_response === undefined ? {} : { fido_pin_response: response("pin") }),
  }));

const rotated = (values: readonly string[]) => [...values.slice(1), ...values.slice(0, 1)];
