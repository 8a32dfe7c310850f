import { randomBytes, randomUUID } from "node:crypto";
import {
  CompactEncrypt,
  type CompactJWEHeaderParameters,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
} from "jose";
import type { Delivery } from "../../../../local/peers/delivery/delivery.ts";

export const TOKEN = "delivery-token";
export const RP_ID = "login.example";
const ORIGIN = `https://${RP_ID}`;

/** One request as its sender remembers it. */
export interface Sent {
  readonly jwe: string;
  readonly responseKey: JWK;
  readonly challenge: string;
}

export interface KeyWish {
  readonly credentials?: number;
  readonly pinLength?: number;
}

interface ProductData {
  serial_number: string;
  firmware_version: string;
  fido_pin_response?: string;
  fido_credential_responses: string[];
}

interface ShipmentAnswer {
  shipment_id: string;
  shipment_state: { shipment_state_id: number; shipment_state_message: string };
  shipment_items: { product_id: number; product_quantity: number; product_data: ProductData[] }[];
}

/** A customer of the delivery service, written against the documents alone. */
export function createRequester(delivery: Delivery, ownToken = TOKEN) {
  const call = (method: string, path: string, body?: unknown, token = ownToken) =>
    fetch(`${delivery.url}/v1/fpr/shipments${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const jwks = async (url: string) => (await (await fetch(url)).json()) as JSONWebKeySet;

  const seal = async (payload: object, header: Partial<CompactJWEHeaderParameters> = {}, at = 0) => {
    const { keys } = await jwks(delivery.transportJwksUrl);
    const key = keys[at % keys.length] as JWK;
    const alg = header.alg ?? "ECDH-ES+A256KW";
    return new CompactEncrypt(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg, enc: "A256GCM", kid: key.kid as string, ...header })
      .encrypt(await importJWK(key, alg));
  };

  const sealed = async (payload: (key: object, challenge: string) => object, at: number): Promise<Sent> => {
    const { privateKey } = await generateKeyPair("ECDH-ES+A256KW", { crv: "P-384", extractable: true });
    const responseKey = { ...(await exportJWK(privateKey)), kid: randomUUID(), use: "enc", alg: "ECDH-ES+A256KW" };
    const challenge = randomBytes(32).toString("base64url");
    const { d: _, ...shown } = responseKey;
    return { jwe: await seal(payload(shown, challenge), {}, at), responseKey, challenge };
  };

  const credentialRequest = (at = 0) => sealed(credentialPayload, at);
  const pinRequest = (length: number, at = 0) =>
    sealed(response_key => ({ v: 1, type: "pin_request", response_key, pin: { type: "generate", length } }), at);

  return {
    call,
    seal,
    credentialRequest,
    pinRequest,
    /** Orders one item of `keys`; answers what it takes to read the responses. */
    order: async (keys: readonly KeyWish[], change: Record<string, unknown> = {}, productId = 1) => {
      const customizations = await Promise.all(
        keys.map(async ({ credentials = 1, pinLength }, at) => ({
          pin: pinLength === undefined ? undefined : await pinRequest(pinLength, at),
          credentials: await Promise.all(Array.from({ length: credentials }, (_, n) => credentialRequest(n))),
        })),
      );
      const body = { ...shipmentBody(itemOf(customizations, productId)), ...change };
      const answer = await call("POST", "", body);
      return { answer, shipment: (await answer.json()) as ShipmentAnswer, customizations };
    },
    read: async (id: string) => (await (await call("GET", `/${id}`)).json()) as ShipmentAnswer,
  };
}

export const credentialPayload = (response_key: object, challenge: string) => ({
  v: 1,
  type: "credential_request",
  response_key,
  origin: ORIGIN,
  public_key: {
    rp: { id: RP_ID, name: "Example" },
    user: { id: "dXNlcg", name: "jan@example.com", displayName: "Jan" },
    challenge,
    pubKeyCredParams: [{ type: "public-key", alg: -7 }],
    timeout: 60000,
    excludeCredentials: [],
    authenticatorSelection: {},
    attestation: "direct",
    extensions: {},
  },
});

export const itemOf = (
  customizations: readonly { pin?: Sent | undefined; credentials: readonly Sent[] }[],
  productId = 1,
) => ({
  product_id: productId,
  inventory_product_id: 15,
  product_quantity: customizations.length,
  product_customizations: customizations.map(({ pin, credentials }) => ({
    ...(pin === undefined ? {} : { fido_pin_request: pin.jwe }),
    fido_credential_requests: credentials.map(({ jwe }) => jwe),
  })),
});

export const RECIPIENT = {
  recipient_company: "",
  recipient_email: "jan@example.com",
  recipient_firstname: "Jan",
  recipient_lastname: "Lindberg",
  recipient_telephone: "5555555",
};
export const ADDRESS = {
  street_line1: "1 Main St",
  street_line2: "",
  city: "Dedham",
  region: "MA",
  postal_code: "02026",
  country_code_2: "US",
};

export const shipmentBody = (...items: readonly object[]) => ({
  delivery_type: 1,
  customer_reference: "order-1",
  address_validation_bypass: false,
  recipient: RECIPIENT,
  mailing_address: ADDRESS,
  shipment_items: items,
});
