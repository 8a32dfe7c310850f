import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { openPin } from "../collect/open-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import { shipmentIdOf } from "../model/request.ts";
import { enrollmentId, isOnSite, type SecurityKey } from "../model/security-key.ts";
import { shippedItems } from "../model/shipment.ts";
import { requireRfpr } from "../peers/rfpr.ts";

interface Pin {
  readonly pin: string;
  /** Why the peer did not answer. The PIN is that of the stored copy then. */
  readonly failure?: PeerFailure | undefined;
}

/** Why there is no PIN. `isTransient` means that a later attempt may return it. */
interface NoPin {
  readonly problem: string;
  readonly isTransient?: boolean;
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** Why the peer did not answer. */
  readonly failure?: PeerFailure | undefined;
}

/** Returns the PIN of a security key from its peer's response or, without one that opens, from the stored copy. */
export async function fetchPin(loaded: LoadedRequest, keyId: string, deps: ConnectorDeps): Promise<Pin | NoPin> {
  const key = securityKeyOf(loaded, keyId);
  const fetched = await orFailure((isOnSite(key) ? enrolledPinResponse : shippedPinResponse)(loaded, key, deps));
  const failure = fetched instanceof PeerFailure ? fetched : undefined;
  if (failure !== undefined) deps.log.warn("pin_fetch_failed", { keyId, error: failure });
  const opened = typeof fetched === "string" ? await tryToOpen(loaded, key, fetched, deps) : undefined;
  // A peer that has purged the response may return another text.
  const isFinal = opened !== undefined && ("pin" in opened || opened.isTransient === true);
  const stored = isFinal ? undefined : await openStoredPin(loaded, keyId, deps);
  const found = stored !== undefined && ("pin" in stored || opened === undefined) ? stored : opened;
  if (found !== undefined) return { failure, ...found };
  const isTransient = failure?.isTransient === true;
  return {
    problem: "No PIN response is available.",
    isTransient,
    retryAfterSeconds: failure?.retryAfterSeconds,
    failure,
  };
}

/** Returns the PIN of a security key from the stored copy of its response; undefined if there is none. */
export async function openStoredPin(
  loaded: LoadedRequest,
  keyId: string,
  deps: ConnectorDeps,
): Promise<Pin | NoPin | undefined> {
  const key = securityKeyOf(loaded, keyId);
  const response = await storedPinResponse(key, deps);
  return response === undefined ? undefined : tryToOpen(loaded, key, response, deps);
}

async function tryToOpen(
  loaded: LoadedRequest,
  key: SecurityKey,
  response: string,
  deps: ConnectorDeps,
): Promise<Pin | NoPin> {
  const opened = await orFailure(openPin(loaded.request.id, key, response, deps));
  if (!(opened instanceof PeerFailure)) return opened;
  deps.log.warn("signing_keys_unread", { keyId: key.id, error: opened });
  return {
    problem: "The key maker's signing keys cannot be read.",
    isTransient: true,
    retryAfterSeconds: opened.retryAfterSeconds,
  };
}

async function enrolledPinResponse(
  loaded: LoadedRequest,
  { id }: SecurityKey,
  deps: ConnectorDeps,
): Promise<string | undefined> {
  const { responses } = await requireRfpr(deps).get(enrollmentId(loaded.request.id, id));
  return responses.pinResponse;
}

async function shippedPinResponse(
  loaded: LoadedRequest,
  key: SecurityKey,
  deps: ConnectorDeps,
): Promise<string | undefined> {
  const shipmentId = shipmentIdOf(loaded.request);
  if (shipmentId === undefined) return undefined;
  const items = shippedItems(loaded.keys);
  const item = items.findIndex(of => of.some(({ id }) => id === key.id));
  const position = items[item]?.findIndex(({ id }) => id === key.id) ?? -1;
  const shipment = await deps.delivery.getShipment(shipmentId);
  return shipment.items[item]?.keys[position]?.pinResponse;
}

const storedPinResponse = async (key: SecurityKey, { responses }: ConnectorDeps): Promise<string | undefined> =>
  key.responses === undefined ? undefined : (await responses.get(key.responses))?.pinResponse;
