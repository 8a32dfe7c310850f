import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import type { Immutable } from "../../platform/stored.ts";
import { plainIdentifier, plainText } from "../../platform/text.ts";
import { instant, parseUtc } from "../../platform/time.ts";
import type { Shipment } from "../model/request.ts";
import type { KeyResponses } from "../model/security-key.ts";
import { someText } from "./delivery-wire.ts";

const number = z.lazy(() =>
  z.union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
);
const someNumber = z.lazy(() => number.optional().catch(undefined));
const someDate = z.lazy(() =>
  z.string().transform(parseUtc).pipe(z.number().transform(instant)).optional().catch(undefined),
);
const list = <T extends z.ZodType>(element: T) =>
  z
    .array(element)
    .nullish()
    .transform(values => values ?? []);

/** An object that is compared with the one that was sent, as it is. */
const wireObject = z.record(z.string(), z.unknown()).catch({});

/** A link that people follow: https, without control characters or spaces, and short. Any other text is dropped. */
const trackingLink = z.lazy(() =>
  z
    .string()
    .max(500)
    .regex(/^https:\/\/[!-~]+$/)
    .refine(link => URL.canParse(link))
    .optional()
    .catch(undefined),
);

/** The id is a segment of URLs and a key in storage, so its characters and length are limited. */
const shipmentId = z.string().regex(/^[\w-][\w.~-]{0,127}$/);

export const createdShipment = z.lazy(() => z.object({ shipment_id: shipmentId }));

const programmedKey = z.lazy(() =>
  z
    .object({
      serial_number: someText,
      firmware_version: someText,
      fido_pin_response: someText,
      fido_credential_responses: list(z.string().catch("")),
    })
    .transform(
      (body): KeyResponses =>
        omitUndefined({
          serial: plainIdentifier(body.serial_number),
          firmware: plainIdentifier(body.firmware_version),
          pinResponse: body.fido_pin_response,
          credentials: body.fido_credential_responses,
        }),
    ),
);

const shippedItem = z.lazy(() =>
  z
    .object({
      product_id: someNumber,
      inventory_product_id: someNumber,
      product_quantity: someNumber,
      // A key that is not programmed yet may be null.
      // In the order of the ordered security keys. Empty until they are programmed.
      product_data: list(programmedKey.nullish().transform(key => key ?? { credentials: [] })),
    })
    .transform(item => ({
      productId: item.product_id,
      inventoryProductId: item.inventory_product_id,
      quantity: item.product_quantity ?? item.product_data.length,
      keys: item.product_data,
    })),
);

export const shipment = z.lazy(() =>
  z
    .object({
      shipment_id: shipmentId,
      shipment_request_date: someDate,
      customer_reference: someText,
      tracking_number: someText,
      tracking_link: trackingLink,
      shipment_state: z.object({ shipment_state_id: number, shipment_state_message: someText }),
      recipient: wireObject,
      mailing_address: wireObject,
      shipment_items: list(shippedItem),
    })
    .transform(body =>
      omitUndefined({
        shipmentId: body.shipment_id,
        requestedAt: body.shipment_request_date,
        customerReference: body.customer_reference,
        tracking: trackingOf(body),
        state: omitUndefined({
          id: body.shipment_state.shipment_state_id,
          message: plainText(body.shipment_state.shipment_state_message),
        }),
        recipient: body.recipient,
        mailingAddress: body.mailing_address,
        items: body.shipment_items,
      }),
    ),
);

/** A shipment that the delivery service returned. Missing and blank members are absent. */
export type DeliveryShipment = Immutable<z.output<typeof shipment>>;

function trackingOf(body: {
  readonly tracking_number?: string | undefined;
  readonly tracking_link?: string | undefined;
}): NonNullable<Shipment["tracking"]> | undefined {
  const tracking = omitUndefined({ number: plainIdentifier(body.tracking_number), link: body.tracking_link });
  return Object.keys(tracking).length === 0 ? undefined : tracking;
}

/** A shipment that is not readable is undefined: it must not hide the others. */
export const shipmentList = z.lazy(() =>
  z.object({ total_count: someNumber, shipments: z.array(shipment.optional().catch(undefined)) }),
);
