import { randomBytes } from "node:crypto";
import type * as z from "zod";
import { credentialRequest, openRequest, pinRequest } from "../security-key/exchange-format.ts";
import type { KeyMaker, KeyMakerState } from "../security-key/key-maker.ts";
import { openingKeys, signingKey } from "../security-key/keyring.ts";
import { type KeyOrder, programKey } from "../security-key/program.ts";
import type { State } from "../state-file.ts";
import { keysOf, type Reprogram, SHIPPED, type Shipment, shipmentView } from "./view.ts";
import { DeliveryError, type ShipmentBody } from "./wire.ts";

/** The state of the service. */
export interface DeliveryState extends KeyMakerState {
  nextSerial: number;
  readonly shipments: Shipment[];
}

type ShipmentView = Awaited<ReturnType<typeof shipmentView>>;

export interface Shipments {
  /** Decrypts every request in `body` and returns the new shipment. Rejects with `DeliveryError` if one cannot be decrypted. */
  create(body: ShipmentBody): Promise<ShipmentView>;
  /** Returns a shipment, and programs its keys if they are due. Rejects with `DeliveryError` for an unknown id. */
  current(id: string): Promise<Shipment>;
  /** Returns all shipments, oldest first. */
  all(): Promise<readonly Shipment[]>;
  change(id: string, change: Partial<Pick<Shipment, "state" | "purged" | "untracked">> & Sabotaged): Promise<Shipment>;
  /** Deletes a shipment in any state. */
  remove(id: string): void;
  stateOf(shipment: Shipment): number;
  view(shipment: Shipment): Promise<ShipmentView>;
}

/** `null` ends the sabotage. */
type Sabotaged = { readonly sabotage?: Shipment["sabotage"] | null };

const RECEIVED = 101;
const IN_PRODUCTION = 102;
const PROCESSING_ERROR = 8;

export function createShipments(
  file: State<DeliveryState>,
  { keyring, authenticators }: KeyMaker,
  shipAfterMs: () => number,
): Shipments {
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

  const reprogram: Reprogram = (order, { serial, pin }, wrong) => programKey(order, { ...maker(), serial, pin }, wrong);

  const find = (id: string) => {
    const found = state.shipments.find(shipment => shipment.id === id);
    if (found === undefined) throw new DeliveryError("not_found", `there is no shipment ${id}`);
    return found;
  };

  return {
    create: async ({ shipment_items, ...body }) => {
      const items = await Promise.all(
        shipment_items.map(async ({ product_customizations, ...item }, at) => ({
          ...item,
          keys: await Promise.all(
            product_customizations.map(async (customization, key) => ({
              order: await openOrder(
                { productId: item.product_id, path: `shipment_items.${at}.product_customizations.${key}` },
                customization,
                openingKeys(keyring),
              ),
            })),
          ),
        })),
      );
      const shipment = { id: randomBytes(16).toString("base64url"), requestedAt: Date.now(), body, items };
      state.shipments.push(shipment);
      file.save();
      return shipmentView(shipment, RECEIVED, reprogram);
    },
    current: async id => upToDate(find(id)),
    all: () => Promise.all(state.shipments.map(upToDate)),
    change: async (id, { sabotage, ...change }) => {
      const shipment = find(id);
      Object.assign(shipment, change);
      if (sabotage === null) delete shipment.sabotage;
      else if (sabotage !== undefined) shipment.sabotage = sabotage;
      file.save();
      return upToDate(shipment);
    },
    remove: id => {
      state.shipments.splice(state.shipments.indexOf(find(id)), 1);
      file.save();
    },
    stateOf,
    view: shipment => shipmentView(shipment, stateOf(shipment), reprogram),
  };
}

async function openOrder(
  { productId, path }: { readonly productId: number; readonly path: string },
  { fido_pin_request, fido_credential_requests }: Customization,
  keys: ReturnType<typeof openingKeys>,
): Promise<KeyOrder> {
  const open = async <S extends z.ZodType>(schema: S, jwe: string, field: string) => {
    try {
      return await openRequest(schema, jwe, keys);
    } catch (error) {
      throw new DeliveryError("validation_error", `${path}.${field}: ${(error as Error).message}`);
    }
  };
  const credentials = await Promise.all(
    fido_credential_requests.map((jwe, at) => open(credentialRequest, jwe, `fido_credential_requests.${at}`)),
  );
  if (fido_pin_request === undefined) return { productId, credentials };
  return { productId, credentials, pin: await open(pinRequest, fido_pin_request, "fido_pin_request") };
}

type Customization = ShipmentBody["shipment_items"][number]["product_customizations"][number];
