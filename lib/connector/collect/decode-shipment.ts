import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { nextDue, withPurgeDue } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { isTooLateFor, isWaiting, type KeyResponses, queueOf, type SecurityKey } from "../model/security-key.ts";
import { shippedItems } from "../model/shipment.ts";
import type { DeliveryShipment } from "../peers/delivery-shipment.ts";
import { decryptsWith, type PrivateKey, recipientKid } from "../peers/exchange-envelope.ts";
import { openSealed, pinResponseKeyPurpose, responseKeyPurpose } from "../storage/sealed.ts";
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
  const request = loaded.request;
  const items = shipment === undefined ? [] : readyItems(shipment);
  const keys: SecurityKey[] = [];
  let opened = 0;
  for (const [item, securityKeys] of shippedItems(loaded.keys).entries()) {
    for (const [position, key] of securityKeys.entries()) {
      const read = await decodeShippedKey(request, key, items[item]?.keys[position], deps);
      keys.push(read.key);
      opened += read.opened;
    }
  }
  return { keys, opened };
}

/** Returns the items of a shipment with their responses; none in a state in which responses are not read. */
const readyItems = ({ state, items }: DeliveryShipment): DeliveryShipment["items"] =>
  readyStates.includes(state.id) ? items : [];

/** Whether the challenge of every shipped credential without a response has expired: no poll helps then. */
export const isTooLateForAll = (loaded: LoadedRequest, deps: ConnectorDeps): boolean =>
  shippedItems(loaded.keys)
    .flat()
    .every(key => isTooLateFor(key, loaded.request, deps));

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

/** How many responses to unknown keys are tried with all response keys: 150 keys take about a second for each. */
const triedResponses = 3;

/**
 * Finds out which request a tentatively linked shipment belongs to, if no response opens with the response key at its
 * position. The responses may be at wrong positions, so they are compared with all response keys of the request (C11).
 * @returns `unknown` if nothing is proven, because responses are missing, malformed or damaged
 */
export async function findShipmentOwner(
  loaded: LoadedRequest,
  shipment: DeliveryShipment,
  deps: ConnectorDeps,
): Promise<"this_request" | "another_request" | "unknown"> {
  const received = readyItems(shipment).flatMap(item => item.keys);
  const credentials = received.flatMap(key => key.credentials).filter(response => response !== "");
  if (credentials.length === 0) return "unknown";
  const responseKeys = await openResponseKeys(loaded.request.id, loaded.keys, deps);
  // A response to a key that does not open would look like one of another request.
  if (responseKeys === undefined) return "unknown";

  const byKid = new Map(responseKeys.map(key => [key.kid, key]));
  const pinResponses = received.flatMap(({ pinResponse }) => pinResponse ?? []);
  for (const response of [...credentials, ...pinResponses]) {
    const named = byKid.get(recipientKid(response) ?? "");
    if (named !== undefined && (await decryptsWith(response, named))) return "this_request";
  }
  // Decryption fails in the same way for another key and for damaged text: only the `kid` shows the difference.
  const isForAnotherKey = (kid: string | undefined) => kid !== undefined && !byKid.has(kid);
  if (!credentials.every(response => isForAnotherKey(recipientKid(response)))) return "unknown";
  // The key maker may name the keys in its own way. A rejected shipment is never linked again, so this is tried before.
  for (const response of credentials.slice(0, triedResponses))
    for (const key of responseKeys) if (await decryptsWith(response, key)) return "this_request";
  return "another_request";
}

/**
 * Returns the response keys of all credentials and PINs, or undefined if one of them does not open. A request that was
 * restored from before its keys were stored has none.
 */
async function openResponseKeys(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<readonly PrivateKey[] | undefined> {
  const opened: PrivateKey[] = [];
  for (const { id, credentials, pinResponseKey } of keys) {
    const sealed = credentials.map(({ responseKey }, index) => [responseKey, responseKeyPurpose(index)] as const);
    for (const [value, purpose] of [...sealed, [pinResponseKey, pinResponseKeyPurpose] as const]) {
      if (value === undefined) continue;
      const key = await openSealed<PrivateKey>(value, { requestId, keyId: id, purpose }, deps);
      if (key === undefined) return undefined;
      opened.push(key);
    }
  }
  return opened;
}
