import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { openPin } from "../collect/open-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { shipmentIdOf } from "../model/request.ts";
import { enrollmentId, isOnSite, type SecurityKey } from "../model/security-key.ts";
import { shippedItems } from "../model/shipment.ts";
import { requireRfpr } from "../peers/rfpr.ts";

/** A PIN, or why there is none. `isTransient` means that a later attempt may return it. */
type PinResult =
  | { readonly pin: string }
  | {
      readonly problem: string;
      readonly isTransient?: boolean;
      /** Seconds that the peer asked to wait. */
      readonly retryAfterSeconds?: number | undefined;
    };

/** Returns the PIN response of a security key, encrypted, from its peer. Throws PeerFailure. */
export async function fetchPinResponse(
  { request, keys }: LoadedRequest,
  key: SecurityKey,
  deps: ConnectorDeps,
): Promise<string | undefined> {
  if (isOnSite(key)) {
    const { responses } = await requireRfpr(deps).get(enrollmentId(request.id, key.id));
    return responses.pinResponse;
  }
  const shipmentId = shipmentIdOf(request);
  if (shipmentId === undefined) return undefined;
  const positions = shippedItems(keys).map(item => item.findIndex(({ id }) => id === key.id));
  const item = positions.findIndex(position => position >= 0);
  const shipment = await deps.delivery.getShipment(shipmentId);
  return shipment.items[item]?.keys[positions[item] ?? -1]?.pinResponse;
}

/**
 * Opens the PIN response of a security key or, without one that opens, the stored copy: a peer that has purged the
 * response may return another text.
 * @param fetched the response of the peer, or its failure; undefined if it has none or was not asked
 */
export async function openPinResponse(
  { request }: LoadedRequest,
  key: SecurityKey,
  fetched: string | PeerFailure | undefined,
  deps: ConnectorDeps,
): Promise<PinResult> {
  const open = async (response: string | undefined): Promise<PinResult | undefined> => {
    if (response === undefined) return undefined;
    const opened = await orFailure(openPin(request.id, key, response, deps));
    if (!(opened instanceof PeerFailure)) return opened;
    deps.log.warn("signing_keys_unread", { keyId: key.id, error: opened });
    const { retryAfterSeconds } = opened;
    return { problem: "The key maker's signing keys cannot be read.", isTransient: true, retryAfterSeconds };
  };
  const failure = fetched instanceof PeerFailure ? fetched : undefined;
  if (failure !== undefined) deps.log.warn("pin_fetch_failed", { keyId: key.id, error: failure });
  const opened = await open(fetched instanceof PeerFailure ? undefined : fetched);
  if (opened !== undefined && ("pin" in opened || opened.isTransient === true)) return opened;
  const stored = await open(key.responses && (await deps.responses.get(key.responses))?.pinResponse);
  if (stored !== undefined && ("pin" in stored || opened === undefined)) return stored;
  const { isTransient = false, retryAfterSeconds } = failure ?? {};
  return opened ?? { problem: "No PIN response is available.", isTransient, retryAfterSeconds };
}

/** Returns ports that get each shipment once: one response has the PINs of all its security keys. */
export function withOneGet({ delivery, ...deps }: ConnectorDeps): ConnectorDeps {
  const got = new Map<string, ReturnType<typeof delivery.getShipment>>();
  const getShipment = (id: string) => {
    const shipment = got.get(id) ?? delivery.getShipment(id);
    got.set(id, shipment);
    return shipment;
  };
  return { ...deps, delivery: { ...delivery, getShipment } };
}
