import * as z from "zod";
import { PeerFailure } from "../../peer-failure.ts";
import type { Instant } from "../../time.ts";
import { trimEnd } from "../../trim-end.ts";
import { anyResponse, callPeer, type PeerAccess, type PeerTools, withTimeout } from "../http/call.ts";
import { createKeySet, type KeySetOptions, type PublicKey } from "../http/jwks.ts";
import { readPeer } from "../http/retry.ts";
import { raceAbort } from "../http/single-flight.ts";
import { createdShipment, shipment, shipmentList } from "./delivery-shipment.ts";
import { type DeliveryOrder, type DeliveryShipment, shipmentBody } from "./delivery-wire.ts";

export interface DeliveryOptions
  extends PeerTools,
    Pick<PeerAccess, "patience">,
    Pick<KeySetOptions, "maxAgeMs" | "refreshAgeMs"> {
  /** What `/v1/fpr/shipments` follows. */
  readonly baseUrl: string;
  readonly signJwksUrl: string;
  readonly transportJwksUrl: string;
  readonly token: () => Promise<string>;
  /** For each call below with everything in it. */
  readonly timeLimitMs: number;
}

/**
 * The delivery service (decision C10, docs/peers/delivery.md). Every call throws PeerFailure only; its `code` and `detail` are
 * the service's own, so that a `missing` with a `code` is the service's word and one without may be a proxy's.
 */
export interface Delivery {
  /**
   * Cannot be taken back and is sent once: after `unanswered` the shipment may exist (decision C6). Where the call cannot leave
   * until `notAfter`, it is not made and fails as `unreachable`.
   */
  createShipment(
    order: DeliveryOrder,
    limits?: { readonly notAfter?: Instant; readonly signal?: AbortSignal },
  ): Promise<{ readonly shipmentId: string }>;
  getShipment(shipmentId: string, signal?: AbortSignal): Promise<DeliveryShipment>;
  /** Newest first; `cannot_tell` where the service offers no such search or has too many to look through. */
  findByReference(reference: string, signal?: AbortSignal): Promise<readonly DeliveryShipment[] | "cannot_tell">;
  /** Fails as `missing` where it is gone and `refused` (409) where it is too late. */
  deleteShipment(shipmentId: string, signal?: AbortSignal): Promise<void>;
  transportKeys(signal?: AbortSignal): Promise<readonly PublicKey[]>;
  /** For decoding responses; undefined where even the newest set lacks it. */
  signingKey(kid: string, signal?: AbortSignal): Promise<PublicKey | undefined>;
}

const pageSize = 100;
const mostPages = 10;

export function connectDelivery({ token, baseUrl, signJwksUrl, transportJwksUrl, ...rest }: DeliveryOptions): Delivery {
  const access: PeerAccess = { ...rest, peer: "delivery service", refusalOf };
  const shipments = `${trimEnd(baseUrl, "/")}/v1/fpr/shipments`;
  const urlOf = (shipmentId: string) => `${shipments}/${encodeURIComponent(shipmentId)}`;
  const { maxAgeMs, refreshAgeMs } = rest;
  const transportKeys = createKeySet(access, { url: transportJwksUrl, use: "enc", maxAgeMs, refreshAgeMs });
  const signingKeys = createKeySet(access, { url: signJwksUrl, use: "sig", maxAgeMs, refreshAgeMs });

  /** Runs one operation with the token and within the time limit. Without a token nothing was sent. */
  const withToken = <T>(
    operation: string,
    outer: AbortSignal | undefined,
    work: (call: { operation: string; token: string; signal: AbortSignal }) => Promise<T>,
  ) =>
    withTimeout(access.timeLimitMs, outer, async signal => {
      const noToken = (cause: unknown) =>
        new PeerFailure(access.peer, operation, "unreachable", { cause, detail: "The token cannot be read." });
      const read = token().catch((cause: unknown) => {
        throw noToken(cause);
      });
      return work({ operation, token: await raceAbort(read, signal, noToken), signal });
    });

  return {
    createShipment: (order, { notAfter, signal } = {}) =>
      withToken("create shipment", signal, async call => {
        const body = shipmentBody(order);
        const created = await callPeer(access, {
          ...call,
          method: "POST",
          url: shipments,
          body,
          notAfter,
          answer: createdShipment,
        });
        return { shipmentId: created.shipment_id };
      }),
    getShipment: (shipmentId, signal) =>
      withToken("get shipment", signal, call =>
        readPeer(access, { ...call, method: "GET", url: urlOf(shipmentId), answer: shipment }),
      ),
    findByReference: (reference, signal) =>
      withToken("find shipments", signal, async call => {
        const found: DeliveryShipment[] = [];
        let seen = 0;
        for (let page = 0; page < mostPages; page++) {
          const query = new URLSearchParams({
            search_field: "customer_reference",
            search: reference,
            limit: String(pageSize),
            offset: String(seen),
          });
          const url = `${shipments}?${query}`;
          const answer = await readPeer(access, { ...call, method: "GET", url, answer: shipmentList }).catch(
            unsupported,
          );
          if (answer === "cannot_tell") return answer;
          // A service that passes over an unknown search field would list everybody's shipments.
          found.push(
            ...answer.shipments.filter(({ customerReference = reference }) => customerReference === reference),
          );
          seen += answer.shipments.length;
          if (answer.shipments.length === 0 || seen >= (answer.total_count ?? seen)) return found;
        }
        return "cannot_tell";
      }),
    deleteShipment: (shipmentId, signal) =>
      withToken("delete shipment", signal, async call => {
        await callPeer(access, { ...call, method: "DELETE", url: urlOf(shipmentId), answer: anyResponse });
      }),
    transportKeys: transportKeys.all,
    signingKey: signingKeys.find,
  };
}

const errorBody = z.object({ code: z.string(), message: z.string().optional() });

function refusalOf(body: unknown) {
  const { code, message } = errorBody.safeParse(body).data ?? {};
  return { code, detail: message };
}

/** The service says that it knows no such search (decision C6). */
function unsupported(error: unknown): "cannot_tell" {
  if (error instanceof PeerFailure && [404, 405, 501].includes(error.status ?? 0)) return "cannot_tell";
  throw error;
}
