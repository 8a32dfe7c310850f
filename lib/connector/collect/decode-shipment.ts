import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isTooLateFor, isWaiting } from "../model/credential.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import { type CredentialRequest, queueOf, type SecurityKey } from "../model/request.ts";
import { shippedItems } from "../model/shipment-items.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { withPurgeDue } from "../store/next-due.ts";
import { decodeKey } from "./decode-key.ts";

/** Shipment states whose responses are taken where they are there (decision C10). */
const readyStates = [103, 104, 105, 106];

export interface DecodedShipment {
  /** All shipped keys in order; those of which nothing was read as they were. */
  readonly keys: readonly SecurityKey[];
  /** Responses that opened with the keys' response keys. */
  readonly opened: number;
  /** Responses that did not. */
  readonly unopened: number;
}

/**
 * The shipped keys with the responses that came for them; open credentials whose challenge has ended are given up (decision C8).
 * Throws PeerFailure when the signing keys can not be read.
 * @param shipment absent: nothing came
 */
export async function decodeShipment(
  { request: { value: request }, keys: stored }: LoadedRequest,
  shipment: DeliveryShipment | undefined,
  deps: ConnectorDeps,
): Promise<DecodedShipment> {
  const told = shipment !== undefined && readyStates.includes(shipment.state.id) ? shipment.items : [];
  const keys: SecurityKey[] = [];
  let opened = 0;
  let unopened = 0;
  for (const [item, of] of shippedItems(stored.map(({ value }) => value)).entries()) {
    for (const [position, key] of of.entries()) {
      const read = await decodeShippedKey(request, key, told[item]?.keys[position], deps);
      keys.push(read.key);
      opened += read.opened;
      unopened += read.unopened;
    }
  }
  return { keys, opened, unopened };
}

/** Whether every shipped credential without a response has outlived its challenge: whatever its peer says is too late. */
export const isTooLateForAll = ({ request, keys }: LoadedRequest, deps: ConnectorDeps): boolean =>
  shippedItems(keys.map(({ value }) => value))
    .flat()
    .every(key => isTooLateFor(key, request.value, deps));

async function decodeShippedKey(
  request: CredentialRequest,
  key: SecurityKey,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<{ readonly key: SecurityKey; readonly opened: number; readonly unopened: number }> {
  if (!isWaiting(key)) return { key, opened: 0, unopened: 0 };
  const { apply, opened, unopened } = await decodeKey(request, key, responses, deps);
  const changed = apply(key);
  const ready = changed.credentials.some(({ state }) => state === "activation_pending");
  const due = { queue: queueOf(key), at: deps.now() } as const;
  return { key: ready ? { ...changed, due } : withPurgeDue(changed, deps), opened, unopened };
}
