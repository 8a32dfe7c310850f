import { randomBytes } from "node:crypto";
import { codedRefusal } from "../refusal.ts";
import { openRequests } from "../security-key/exchange-format.ts";
import type { KeyMaker, KeyMakerState } from "../security-key/key-maker.ts";
import { openingKeys, signingKey } from "../security-key/keyring.ts";
import { programKey } from "../security-key/program.ts";
import type { State } from "../state-file.ts";
import { keysOf, type Reprogram, SHIPPED, type Shipment, shipmentView } from "./view.ts";
import type { ShipmentBody } from "./wire.ts";

/** The state of the service. */
export interface DeliveryState extends KeyMakerState {
  nextSerial: number;
  readonly shipments: Shipment[];
}

export type Shipments = ReturnType<typeof createShipments>;

/** `null` ends the sabotage. */
type Sabotaged = { readonly sabotage?: Shipment["sabotage"] | null };

const RECEIVED = 101;
const IN_PRODUCTION = 102;
const PROCESSING_ERROR = 8;

export function createShipments(
  file: State<DeliveryState>,
  { keyring, authenticators }: KeyMaker,
  shipAfterMs: () => number,
) {
  const state = file.value;
  const programming = new Map<string, Promise<void>>();
  const maker = () => ({ authenticator: authenticators.hardware, signKey: signingKey(keyring) });

  const byClock = ({ requestedAt }: Shipment) => {
    const age = Date.now() - requestedAt;
    if (age >= shipAfterMs()) return SHIPPED;
    return age * 2 >= shipAfterMs() ? IN_PRODUCTION : RECEIVED;
  };
  // A shipment ships only after its keys are programmed, which sets the state.
  const stateOf = (shipment: Shipment) => shipment.state ?? Math.min(byClock(shipment), IN_PRODUCTION);

  const program = async (shipment: Shipment) => {
    try {
      for (const key of keysOf(shipment))
        key.programmed ??= await programKey(key.order, { ...maker(), serial: String(state.nextSerial++) });
      shipment.state ??= SHIPPED;
    } catch (error) {
      console.error(`delivery: shipment ${shipment.id} cannot be programmed: ${String(error)}`);
      shipment.state = PROCESSING_ERROR;
    }
    file.save();
  };

  /** Programs the keys once, also if several calls read at the same time. */
  const upToDate = async (shipment: Shipment) => {
    const leaves = (shipment.state ?? byClock(shipment)) >= SHIPPED;
    if (leaves && keysOf(shipment).some(({ programmed }) => programmed === undefined)) {
      const running = programming.get(shipment.id) ?? program(shipment);
      programming.set(shipment.id, running);
      await running;
      programming.delete(shipment.id);
    }
    return shipment;
  };

  const reprogram: Reprogram = async (order, { serial, pin }, wrong) =>
    (await programKey(order, { ...maker(), serial, pin }, wrong)).responses;

  const find = (id: string) => {
    const found = state.shipments.find(shipment => shipment.id === id);
    if (found === undefined) throw codedRefusal("not_found", `there is no shipment ${id}`);
    return found;
  };

  return {
    /** Decrypts every request in `body` and returns the new shipment. */
    create: async ({ shipment_items, ...body }: ShipmentBody) => {
      const items = await Promise.all(
        shipment_items.map(async ({ product_customizations, ...item }, at) => ({
          ...item,
          keys: await Promise.all(
            product_customizations.map(async ({ fido_pin_request, fido_credential_requests }, key) => {
              const prefix = `shipment_items.${at}.product_customizations.${key}.fido_`;
              const sealed = { credentials: fido_credential_requests, pin: fido_pin_request };
              const requests = await openRequests(prefix, sealed, openingKeys(keyring));
              return { order: { productId: item.product_id, ...requests } };
            }),
          ),
        })),
      );
      const shipment = { id: randomBytes(16).toString("base64url"), requestedAt: Date.now(), body, items };
      state.shipments.push(shipment);
      file.save();
      return shipmentView(shipment, RECEIVED, reprogram);
    },
    /** Returns a shipment, and programs its keys if they are due. */
    current: async (id: string) => upToDate(find(id)),
    /** Returns all shipments, oldest first. */
    all: () => Promise.all(state.shipments.map(upToDate)),
    change: async (
      id: string,
      { sabotage, ...change }: Partial<Pick<Shipment, "state" | "purged" | "untracked">> & Sabotaged,
    ) => {
      const shipment = find(id);
      Object.assign(shipment, change);
      if (sabotage === null) delete shipment.sabotage;
      else if (sabotage !== undefined) shipment.sabotage = sabotage;
      file.save();
      return upToDate(shipment);
    },
    /** Deletes a shipment in any state. */
    remove: (id: string) => {
      state.shipments.splice(state.shipments.indexOf(find(id)), 1);
      file.save();
    },
    stateOf,
    view: (shipment: Shipment) => shipmentView(shipment, stateOf(shipment), reprogram),
  };
}
