import * as z from "zod";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { wrongFields } from "../security-key/exchange-format.ts";
import { type Keyring, signJwks, transportJwks } from "../security-key/keyring.ts";
import type { Shipments } from "./shipments.ts";
import { DeliveryError, type DeliveryErrorCode, shipmentBody } from "./wire.ts";

export const TRANSPORT_JWKS = "/.well-known/transport-keys.jwks";
export const SIGN_JWKS = "/.well-known/sign.jwks";

interface DeliveryService {
  readonly token: string;
  readonly shipments: Shipments;
  readonly keyring: Keyring;
  /** Whether shipments can be looked up by their reference. */
  readonly searchable: () => boolean;
}

const STATUS: Readonly<Record<DeliveryErrorCode, number>> = {
  validation_error: 400,
  unauthorized: 401,
  not_found: 404,
  conflict: 409,
};
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
    throw new DeliveryError("unauthorized", "the token is missing or wrong");
  if (id !== undefined) return oneShipment(service.shipments, method, id);
  if (method === "POST") return create(service.shipments, call);
  if (method === "GET") return search(service, call);
  return undefined;
}

/** Runs `work`, and responds to its refusal with the error format of the service. */
export async function refusing(work: () => Promise<HttpAnswer | undefined>): Promise<HttpAnswer | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error;
    return { status: STATUS[error.code], body: { code: error.code, message: error.message } };
  }
}

async function create(shipments: Shipments, { body }: HttpCall): Promise<HttpAnswer> {
  const parsed = shipmentBody.safeParse(jsonOf(body));
  if (!parsed.success) throw new DeliveryError("validation_error", wrongFields(parsed.error));
  return { status: 201, body: await shipments.create(parsed.data) };
}

async function oneShipment(shipments: Shipments, method: string, id: string): Promise<HttpAnswer | undefined> {
  const shipment = await shipments.current(id);
  if (method === "GET") return { status: 200, body: await shipments.view(shipment) };
  if (method !== "DELETE") return undefined;
  if (!isOpen(shipments.stateOf(shipment)))
    throw new DeliveryError("conflict", "the shipment is in work and cannot be deleted any more");
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
  if (!searchable()) throw new DeliveryError("not_found", "shipments cannot be searched");
  const parsed = searchQuery.safeParse(Object.fromEntries(query));
  if (!parsed.success) throw new DeliveryError("validation_error", wrongFields(parsed.error));
  const { search, limit, offset } = parsed.data;
  const found = (await shipments.all()).filter(({ body }) => body.customer_reference === search).reverse();
  const page = await Promise.all(found.slice(offset, offset + limit).map(shipments.view));
  return { status: 200, body: { count: page.length, total_count: found.length, shipments: page } };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new DeliveryError("validation_error", "the body is not JSON");
  }
}
