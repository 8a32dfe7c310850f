import type { PeerAccess, PeerTools } from "../../platform/call-peer.ts";
import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { trimEnd } from "../../platform/text.ts";
import type { Instant } from "../../platform/time.ts";
import { deliveryService } from "../model/peer-names.ts";
import { createAccessTokens, peerApi } from "./access-token.ts";
import { createdShipment, type DeliveryShipment, shipment, shipmentList } from "./delivery-shipment.ts";
import { type DeliveryOrder, errorOf, noErrorObject, shipmentBody } from "./delivery-wire.ts";
import { createKeySet } from "./jwks.ts";

interface DeliveryOptions extends PeerTools {
  /** The URL before `/v1/fpr/shipments`. */
  readonly baseUrl: string;
  readonly signJwksUrl: string;
  readonly transportJwksUrl: string;
  readonly token: () => Promise<string>;
  /** The time limit of each method, including token and repetitions. */
  readonly timeLimitMs: number;
}

/** The delivery service, as `connectDelivery` returns it. */
export type DeliveryService = ReturnType<typeof connectDelivery>;

/** A look-up reads at most 1,000 shipments: a caller may use one reference for all its orders. */
const pageSize = 10;
const maxPages = 100;
/**
 * The maximum length of a page, in bytes. A shipment has at most 100 credentials, with responses of about 20 kB each (a
 * challenge of Entra ID has about 7,000 characters), and 50 security keys with PIN responses of about 2 kB: 2.1 MB, and
 * a page of 10 about 21 MB. A page of a service that ignores the page size fits too if its shipments are small.
 */
const maxPageBytes = 24 * 1024 * 1024;

/**
 * Returns the client of the delivery service (docs/peers/delivery.md). Methods throw PeerFailure only. Its `code` and
 * `detail` are the service's own.
 */
export function connectDelivery({ token, baseUrl, signJwksUrl, transportJwksUrl, ...rest }: DeliveryOptions) {
  const access: PeerAccess = { ...rest, peer: deliveryService, errorOf };
  const tokens = createAccessTokens(access, async () => ({ token: await token(), expiresInSeconds: 0 }));
  const operate = peerApi(access, tokens);
  const search = peerApi({ ...access, maxResponseBytes: maxPageBytes }, tokens);
  const shipments = `${trimEnd(baseUrl, "/")}/v1/fpr/shipments`;
  const urlOf = (shipmentId: string) => `${shipments}/${encodeURIComponent(shipmentId)}`;
  const transportKeys = createKeySet(access, { url: transportJwksUrl, use: "enc" });
  const signingKeys = createKeySet(access, { url: signJwksUrl, use: "sig" });

  return {
    /**
     * Orders a shipment with exactly one call, because an order cannot be undone. After `unanswered` the shipment may
     * exist. If the call cannot start by `notAfter`, it is not made and fails as `unreachable`.
     */
    async createShipment(order: DeliveryOrder, { notAfter }: { readonly notAfter?: Instant } = {}) {
      const request = { operation: "create shipment", method: "POST", url: shipments, notAfter } as const;
      // The failure is not thrown inside: after a 401 the call would be made again with a new token.
      const created = await operate(undefined, ({ send }) =>
        orFailure(send({ ...request, body: shipmentBody(order), response: createdShipment })),
      );
      if (created instanceof PeerFailure) throw isOfGateway(created) ? created.as("unanswered") : created;
      return { shipmentId: created.shipment_id };
    },

    getShipment: (shipmentId: string): Promise<DeliveryShipment> =>
      operate(undefined, ({ get }) => {
        // The state of another shipment must not become that of this one. The service may write an id in another case.
        const response = shipment.refine(found => found.shipmentId.toLowerCase() === shipmentId.toLowerCase(), {
          path: ["shipment_id"],
        });
        return get("get shipment", urlOf(shipmentId), response);
      }),

    /**
     * Finds the readable shipments with the reference, each once, without the responses of their security keys. In a
     * list that is newest first, it need not find those requested at `since` or before. Returns none if the service has
     * no such search or too many results. Fails if it found none and some shipments were not readable.
     */
    findByReference: (reference: string, since: Instant) =>
      search(undefined, async ({ get }): Promise<readonly DeliveryShipment[]> => {
        const operation = "find shipments";
        // A shipment that is created meanwhile moves others to the next page, where they appear again.
        const found = new Map<string, DeliveryShipment>();
        let hasUnreadable = false;
        let seen = 0;
        const isLastPage = endsBefore(since);
        for (let page = 0; page < maxPages; page++) {
          const query = new URLSearchParams({
            search_field: "customer_reference",
            search: reference,
            limit: String(pageSize),
            offset: String(seen),
          });
          const listed = await get(operation, `${shipments}?${query}`, shipmentList).catch(unsupported);
          if (listed === undefined) return [];
          for (const each of listed.shipments) {
            hasUnreadable ||= each === undefined;
            // A service that ignores an unknown search field would list all shipments.
            if ((each?.customerReference ?? reference) === reference && each !== undefined)
              found.set(each.shipmentId, withoutResponses(each));
          }
          seen += listed.shipments.length;
          const hasMore = listed.shipments.length > 0 && seen < (listed.total_count ?? seen);
          if (!isLastPage(listed.shipments) && hasMore) continue;
          if (found.size > 0 || !hasUnreadable) return [...found.values()];
          throw new PeerFailure(access.peer, operation, "unanswered", { detail: "A shipment cannot be read." });
        }
        return [];
      }),

    /** Fails as `missing` if the shipment does not exist, and as `refused` (409) if it is too late. */
    deleteShipment: (shipmentId: string) =>
      operate(undefined, async ({ send }) => {
        const request = { operation: "delete shipment", method: "DELETE", url: urlOf(shipmentId) } as const;
        await send({ ...request, response: noErrorObject });
      }),

    transportKeys: transportKeys.all,
    /** Returns the key that verifies a response; undefined if the newest key set does not have it either. */
    signingKey: signingKeys.find,
  };
}

/**
 * Whether a refusal is not in the service's own form: a gateway may answer for a service that has taken the order. Not
 * so if it does not let the caller in (401, 403), does not know the address (404) or limits the calls (429).
 */
const isOfGateway = ({ code, status = 0 }: PeerFailure): boolean =>
  code === undefined && status >= 400 && status < 500 && ![401, 403, 404, 429].includes(status);

/** Returns a shipment without the responses of its security keys, which would use up memory in a long list. */
const withoutResponses = ({ items, ...shipment }: DeliveryShipment): DeliveryShipment => ({
  ...shipment,
  items: items.map(item => ({ ...item, keys: [] })),
});

/**
 * Returns a function that gets each page of a list in turn, and returns whether all further pages are from `since` or
 * before. Relies on the documented order only if the list shows it: every shipment has a time, no page has a later time
 * after an earlier one, and the times are not all equal.
 */
function endsBefore(since: Instant): (page: readonly (DeliveryShipment | undefined)[]) => boolean {
  let newest: Instant | undefined;
  let isNewestFirst = true;
  return page => {
    const times = page.map(shipment => shipment?.requestedAt);
    isNewestFirst &&= times.every((time, index) => time !== undefined && time <= (times[index - 1] ?? time));
    newest ??= times[0];
    const last = times.at(-1);
    return isNewestFirst && newest !== undefined && last !== undefined && last < newest && last <= since;
  };
}

/** Handles the status codes by which the service says that it has no such search. */
function unsupported(error: unknown): undefined {
  if (error instanceof PeerFailure && [404, 405, 501].includes(error.status ?? 0)) return undefined;
  throw error;
}
