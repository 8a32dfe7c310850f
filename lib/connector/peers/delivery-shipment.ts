import * as z from "zod";
import { plainIdentifier, plainText } from "../../plain-text.ts";
import { instant } from "../../time.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import { omitUndefined } from "../model/omit-undefined.ts";
import { type DeliveryShipment, filled } from "./delivery-wire.ts";

const number = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
]);
const someNumber = number.optional().catch(undefined);
const someText = z
  .union([z.string(), z.number().transform(String)])
  .transform(filled)
  .optional()
  .catch(undefined);
const someDate = z
  .string()
  .transform(text => Date.parse(text))
  .pipe(z.number().transform(instant))
  .optional()
  .catch(undefined);
const list = <T extends z.ZodType>(element: T) =>
  z
    .array(element)
    .nullish()
    .transform(values => values ?? []);

/** It becomes a segment of our URLs and a key in storage. */
const shipmentId = z.string().regex(/^[\w-][\w.~-]{0,127}$/);

export const createdShipment = z.object({ shipment_id: shipmentId });

const programmedKey = z
  .object({
    serial_number: someText,
    firmware_version: someText,
    fido_pin_response: someText,
    fido_credential_responses: list(z.string().catch("")),
  })
  .transform(
    (told): KeyResponses =>
      omitUndefined({
        serial: plainIdentifier(told.serial_number),
        firmware: plainIdentifier(told.firmware_version),
        pin: told.fido_pin_response,
        credentials: told.fido_credential_responses,
      }),
  );

const shippedItem = z
  .object({
    product_id: someNumber,
    inventory_product_id: someNumber,
    product_quantity: someNumber,
    product_data: list(programmedKey),
  })
  .transform(item => ({
    productId: item.product_id,
    inventoryProductId: item.inventory_product_id,
    quantity: item.product_quantity ?? item.product_data.length,
    keys: item.product_data,
  }));

const recipient = z
  .object({
    recipient_company: someText,
    recipient_email: someText,
    recipient_firstname: someText,
    recipient_lastname: someText,
    recipient_telephone: someText,
  })
  .transform(told => ({
    company: told.recipient_company,
    email: told.recipient_email,
    firstName: told.recipient_firstname,
    lastName: told.recipient_lastname,
    telephone: told.recipient_telephone,
  }));

const mailingAddress = z
  .object({
    street_line1: someText,
    street_line2: someText,
    city: someText,
    region: someText,
    postal_code: someText,
    country_code_2: someText,
  })
  .transform(told => ({
    streetLine1: told.street_line1,
    streetLine2: told.street_line2,
    city: told.city,
    region: told.region,
    postalCode: told.postal_code,
    countryCode: told.country_code_2,
  }));

export const shipment = z
  .object({
    shipment_id: shipmentId,
    shipment_request_date: someDate,
    customer_reference: someText,
    shipment_state: z.object({ shipment_state_id: number, shipment_state_message: someText }),
    recipient: recipient.catch({} as z.output<typeof recipient>),
    mailing_address: mailingAddress.catch({} as z.output<typeof mailingAddress>),
    shipment_items: list(shippedItem),
  })
  .transform(
    (told): DeliveryShipment => ({
      shipmentId: told.shipment_id,
      requestedAt: told.shipment_request_date,
      customerReference: told.customer_reference,
      state: {
        id: told.shipment_state.shipment_state_id,
        message: plainText(told.shipment_state.shipment_state_message),
      },
      recipient: told.recipient,
      mailingAddress: told.mailing_address,
      items: told.shipment_items,
    }),
  );

export const shipmentList = z.object({ total_count: someNumber, shipments: z.array(shipment) });
