import type { ConnectorDeps } from "../deps.ts";
import { isTooLateFor, isWaiting, type KeyResponses } from "../model/credential.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import { nextDue, withPurgeDue } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { queueOf, type SecurityKey } from "../model/security-key.ts";
import { shippedItems } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-wire.ts";
import { decodeKey } from "./decode-key.ts";

/** Shipment states in which responses are read if they are present. */
const readyStates = [103, 104, 105, 106];

/**
 * Returns all shipped security keys in order, with their responses applied, and the number of responses that opened
 * with the response key at their position. Open credentials whose challenge has expired end. Throws PeerFailure if the
 * signing keys cannot be read.
 * @param shipment undefined if the delivery service was not asked
 */
export async function decodeShipment(
  loaded: LoadedRequest,
  shipment: DeliveryShipment | undefined,
  deps: ConnectorDeps,
) {
  const request = loaded.request.value;
  const items = shipment === undefined ? [] : readyItems(shipment);
  const keys: SecurityKey[] = [];
  let opened = 0;
  for (const [item, securityKeys] of shippedItems(securityKeysOf(loaded)).entries()) {
    for (const [position, key] of securityKeys.entries()) {
      const read = await decodeShippedKey(request, key, items[item]?.keys[position], deps);
      keys.push(read.key);
      opened += read.opened;
    }
  }
  return { keys, opened };
}

/** Returns the items of a shipment with their responses; none in a state in which responses are not read. */
export const readyItems = ({ state, items }: DeliveryShipment): DeliveryShipment["items"] =>
  readyStates.includes(state.id) ? items : [];

/** Whether the challenge of every shipped credential without a response has expired: no poll helps then. */
export const isTooLateForAll = (loaded: LoadedRequest, deps: ConnectorDeps): boolean =>
  shippedItems(securityKeysOf(loaded))
    .flat()
    .every(key => isTooLateFor(key, loaded.request.value, deps));

async function decodeShippedKey(
  request: CredentialRequest,
  key: SecurityKey,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<{ readonly key: SecurityKey; readonly opened: number }> {
  if (!isWaiting(key)) return { key, opened: 0 };
  const { apply, opened } = await decodeKey(request, key, responses, deps);
  const changed = apply(key);
  const ready = changed.credentials.some(({ state }) => state === "activation_pending");
  const { notBefore, ...due } = nextDue(changed) ?? { queue: queueOf(key) };
  const readyKey = { ...changed, due: { ...due, at: deps.now() } };
  return { key: ready ? readyKey : withPurgeDue(changed, deps), opened };
}
