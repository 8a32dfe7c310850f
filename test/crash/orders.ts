import { sampleRequest } from "../../local/start/sample-request.ts";
import type { HostProcess } from "../support/host/host-process.ts";

/** A create body of its own recipient: two keys, the first with two credentials. */
export interface Order {
  readonly email: string;
  readonly users: readonly string[];
  readonly body: typeof sampleRequest & { readonly shipment: { readonly customer_reference?: string } };
}

let orders = 0;

/** @param keys how many credentials each key carries */
export function newOrder(keys: readonly number[] = [2, 1]): Order {
  const name = `order${++orders}`;
  const email = `${name}@example.com`;
  const [item] = sampleRequest.shipment.shipment_items;
  if (item === undefined) throw new Error("the sample has no item");
  const items = keys.map((count, key) => ({
    ...item,
    credentials: Array.from({ length: count }, (_, n) => ({ user_id: `${name}.${key}.${n}@example.com` })),
  }));
  return {
    email,
    users: items.flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id)),
    body: {
      recipient: { ...sampleRequest.recipient, email },
      enrollment_contacts: { emails_to: [email] },
      shipment: { ...sampleRequest.shipment, shipment_items: items },
    },
  };
}

/** Sends the order. Rejects where the host dies before it has answered. */
const send = (host: HostProcess, { body }: Order) => host.call("POST", "/v2/credential-requests", body);

/** Sends the order and answers the id of its request, which must have been taken. */
export async function placed(host: HostProcess, order: Order): Promise<string> {
  const { status, body } = await send(host, order);
  if (status !== 201) throw new Error(`the order was answered ${status}: ${JSON.stringify(body)}`);
  return (body as { data: { credential_request_id: string } }).data.credential_request_id;
}

export const processShipments = async (host: HostProcess): Promise<void> => {
  const { status } = await host.call("GET", "/v2/operations/process-shipments");
  if (status !== 204) throw new Error(`process-shipments was answered ${status}: ${host.errors()}`);
};

export const processCredentialRequests = async (host: HostProcess): Promise<void> => {
  const { status } = await host.call("POST", "/v2/operations/process-credential-requests");
  if (status !== 200) throw new Error(`process-credential-requests was answered ${status}: ${host.errors()}`);
};

export const processAll = async (host: HostProcess): Promise<void> => {
  await processShipments(host);
  await processCredentialRequests(host);
};
