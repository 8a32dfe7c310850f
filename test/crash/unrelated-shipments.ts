import { createRequester, itemOf } from "../local/peers/delivery/requester.ts";
import type { TestSystem } from "../support/host/system.ts";
import type { Order } from "./orders.ts";

/** Creates another customer's shipment with our reference, which differs from the order only by `change`. Returns its id. */
export async function createUnrelatedShipment(
  order: Order,
  reference: string,
  { peers }: TestSystem,
  change: { readonly email?: string; readonly city?: string; readonly items?: number } = {},
): Promise<string> {
  const { email = order.email, city, items = Number.POSITIVE_INFINITY } = change;
  const { recipient, shipment } = order.body;
  const requester = createRequester(peers.delivery);
  const keys = await Promise.all(
    shipment.shipment_items.slice(0, items).map(async ({ credentials, pin_request }) => ({
      pin: await requester.pinRequest(pin_request.length),
      credentials: await Promise.all(credentials.map(() => requester.credentialRequest())),
    })),
  );
  const { country_code, ...address } = shipment.mailing_address;
  const body = {
    delivery_type: 1,
    customer_reference: reference,
    recipient: {
      recipient_company: "",
      recipient_email: email,
      recipient_firstname: recipient.first_name,
      recipient_lastname: recipient.last_name,
      recipient_telephone: recipient.telephone,
    },
    mailing_address: { ...address, ...(city !== undefined && { city }), country_code_2: country_code },
    shipment_items: keys.map(key => itemOf([key])),
  };
  const answer = await requester.call("POST", "", body, peers.vault.get("delivery-api-token"));
  if (answer.status !== 201) throw new Error(`the unrelated order was answered ${answer.status}`);
  return ((await answer.json()) as { shipment_id: string }).shipment_id;
}
