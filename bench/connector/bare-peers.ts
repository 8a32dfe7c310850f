import type { JWK } from "jose";

/** Creation options as Graph gives them. */
export interface Options {
  readonly userId: string;
  readonly publicKey: { readonly rp: { readonly id: string } };
}

interface Order {
  readonly credentials: readonly { readonly request: string }[];
  readonly pin: { readonly request: string };
}

interface ProgrammedKey {
  readonly pin: string;
  readonly credentials: readonly string[];
}

/** The delivery service and Entra ID, called by `fetch` alone. */
export interface BarePeers {
  options(userId: string): Promise<Options>;
  register(userId: string, response: Readonly<Record<string, unknown>>): Promise<void>;
  order(keys: readonly Order[]): Promise<string>;
  shipment(id: string): Promise<readonly ProgrammedKey[]>;
  /** Public keys by their use. */
  keys(use: "transport" | "signing"): Promise<readonly JWK[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a peer answers
type Json = any;

export async function barePeers(environment: NodeJS.ProcessEnv): Promise<BarePeers> {
  const { IDPA_GRAPH_ENDPOINT: graph = "", DELIVERY_API_BASE_URL: delivery = "" } = environment;
  const { DELIVERY_JWKS_TRANSPORT_ENDPOINT: transport = "", DELIVERY_JWKS_SIGN_ENDPOINT: signing = "" } = environment;
  const call = async (url: string, token?: string, body?: object | URLSearchParams): Promise<Json> => {
    const form = body instanceof URLSearchParams;
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || form ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const granted = await call(
    `${environment.IDPA_ONLINE_ENDPOINT}/${environment.CLOUD_TENANT_ID}/oauth2/v2.0/token`,
    undefined,
    new URLSearchParams({
      grant_type: "client_credentials",
      client_id: environment.IDPA_FIDO_API_CLIENT_ID ?? "",
      client_secret: environment.BENCH_ENTRA_SECRET ?? "",
      scope: `${graph}/.default`,
    }),
  );
  const token: string = granted.access_token;
  const deliveryToken = environment.BENCH_DELIVERY_TOKEN ?? "";
  const methods = (userId: string) => `${graph}/beta/users/${userId}/authentication/fido2Methods`;
  return {
    options: async userId => {
      const url = `${methods(userId)}/creationOptions(challengeTimeoutInMinutes=20160)`;
      return { userId, publicKey: (await call(url, token)).publicKey };
    },
    register: async (userId, { id, response }) => {
      const publicKeyCredential = { id, response, clientExtensionResults: {} };
      await call(methods(userId), token, { displayName: "Bare", publicKeyCredential });
    },
    order: async keys => (await call(`${delivery}/v1/fpr/shipments`, deliveryToken, orderOf(keys))).shipment_id,
    shipment: async id => {
      const status = await call(`${delivery}/v1/fpr/shipments/${id}`, deliveryToken);
      const made = status.shipment_items.flatMap(({ product_data }: Json) => product_data);
      return made.map(({ fido_pin_response, fido_credential_responses }: Json) => ({
        pin: fido_pin_response,
        credentials: fido_credential_responses,
      }));
    },
    keys: async use => (await call(use === "transport" ? transport : signing)).keys,
  };
}

const orderOf = (keys: readonly Order[]) => ({
  delivery_type: 1,
  recipient: { recipient_email: "bare@example.com", recipient_firstname: "Ada", recipient_lastname: "Lovelace" },
  mailing_address: { street_line1: "12 Analytical Way", city: "Dedham", postal_code: "02026", country_code_2: "US" },
  shipment_items: keys.map(({ credentials, pin }) => ({
    product_id: 1,
    inventory_product_id: 15,
    product_quantity: 1,
    product_customizations: [
      { fido_pin_request: pin.request, fido_credential_requests: credentials.map(({ request }) => request) },
    ],
  })),
});
