import pLimit from "p-limit";
import type { BenchHost } from "./system.ts";

let users = 0;
const newUser = () => `user${process.pid}-${users++}@example.com`;

/** A version 2 create body: so many keys with a PIN and so many credentials each. */
export const orderBody = (items: number, credentials: number) => ({
  recipient: { email: newUser(), first_name: "Ada", last_name: "Lovelace", telephone: "+15550100" },
  enrollment_contacts: { emails_to: ["pins@example.com"] },
  shipment: {
    mailing_address: {
      street_line1: "12 Analytical Way",
      city: "Dedham",
      region: "MA",
      postal_code: "02026",
      country_code: "US",
    },
    shipment_items: Array.from({ length: items }, (_, item) => ({
      name: `Key ${item + 1}`,
      product_id: "1",
      inventory_product_id: "15",
      pin_request: { length: 6 },
      credentials: Array.from({ length: credentials }, () => ({ user_id: newUser() })),
    })),
  },
});

/** @returns milliseconds */
export const create = (host: BenchHost, items = 1, credentials = 1): Promise<number> =>
  host.call("POST", "/v2/credential-requests", [201], orderBody(items, credentials));

export const processShipments = (host: BenchHost): Promise<number> =>
  host.call("GET", "/v2/operations/process-shipments", [204]);

export const processCredentialRequests = (host: BenchHost): Promise<number> =>
  host.call("POST", "/v2/operations/process-credential-requests", [200]);

/** Due orders of one key with one credential. */
export async function place(count: number, one: () => Promise<unknown>): Promise<void> {
  const limit = pLimit(6);
  await Promise.all(Array.from({ length: count }, () => limit(one)));
}
