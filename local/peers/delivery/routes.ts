import * as z from "zod";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { readBody, wrongFields } from "../read-body.ts";
import { codedRefusal } from "../refusal.ts";
import { type Keyring, signJwks, transportJwks } from "../security-key/keyring.ts";
import type { Shipments } from "./shipments.ts";
import { shipmentBody } from "./wire.ts";

export const TRANSPORT_JWKS = "/.well-known/transport-keys.jwks";
export const SIGN_JWKS = "/.well-known/sign.jwks";

interface DeliveryService {
  readonly token: string;
  readonly shipments: Shipments;
  readonly keyring: Keyring;
  /** Whether shipments can be looked up by their reference. */
  readonly searchable: () => boolean;
}

/** The states in which the customer may correct or delete a shipment; it is locked when its keys go into production. */
const isOpen = (state: number) => state <= 9 || state === 101;

/** Returns the routes of docs/peers/delivery.md. */
export async function deliveryRoutes(service: DeliveryService, call: HttpCall): Promise<HttpAnswer | undefined> {
  const { method, path, headers } = call;
  if (method === "GET" && path === TRANSPORT_JWKS) return { status: 200, body: transportJwks(service.keyring) };
  if (method === "GET" && path === SIGN_JWKS) return { status: 200, body: signJwks(service.keyring) };
  const [, id, collection] = path.match(/^\/v1\/fpr\/shipments(?:\/([^/]+)|())$/) ?? [];
  if (id === undefined && collection === undefined) return undefined;
  if (headers.authorization !== `Bearer ${service.token}`)
    throw codedRefusal("unauthorized", "the token is missing or wrong");
  if (id !== undefined) return oneShipment(service.shipments, method, id);
  if (method === "POST") return create(service.shipments, call);
  if (method === "GET") return search(service, call);
  return undefined;
}

async function create(shipments: Shipments, { body }: HttpCall): Promise<HttpAnswer> {
  const wanted = readBody(shipmentBody, body, reason => codedRefusal("validation_error", reason));
  return { status: 201, body: await shipments.create(wanted) };
}

async function oneShipment(shipments: Shipments, method: string, id: string): Promise<HttpAnswer | undefined> {
  const shipment = await shipments.current(id);
  if (method === "GET") return { status: 200, body: await shipments.view(shipment) };
  if (method !== "DELETE") return undefined;
  if (!isOpen(shipments.stateOf(shipment)))
    throw codedRefusal("conflict", "the shipment is in work and cannot be deleted any more");
  shipments.remove(id);
  return { status: 204 };
}

const searchQuery = z.strictObject({
  search_field: z.literal("customer_reference"),
  search: z.string().min(1),
  limit: z.coerce.number().int().min(1).max(100).default(100),
  offset: z.coerce.number().int().nonnegative().default(0),
});

async function search({ shipments, searchable }: DeliveryService, { query }: HttpCall): Promise<HttpAnswer> {
  if (!searchable()) throw codedRefusal("not_found", "shipments cannot be searched");
  const parsed = searchQuery.safeParse(Object.fromEntries(query));
  if (!parsed.success) throw codedRefusal("validation_error", wrongFields(parsed.error));
  const { search, limit, offset } = parsed.data;
  const found = (await shipments.all()).filter(({ body }) => body.customer_reference === search).reverse();
  const page = await Promise.all(found.slice(offset, offset + limit).map(shipments.view));
  return { status: 200, body: { count: page.length, total_count: found.length, shipments: page } };
}
