import * as z from "zod";

/** The id of a credential request in a path, in any case (RFC 9562 section 4). A text that is no id gets 404. */
export const requestIdPath = z.object({
  credential_request_id: z.string().toLowerCase().meta({ description: "The credential request id, in any case." }),
});

/** The id of a shipment in a path. */
export const shipmentIdPath = z.lazy(() =>
  z.object({ shipment_id: z.string().meta({ description: "The delivery service's id." }) }),
);

/** The header of every create (C6). A comma is refused: it joins the values of a repeated header. */
export const idempotencyKey = z.object({
  "Idempotency-Key": z
    .string()
    .regex(/^[\x21-\x2b\x2d-\x7e]{1,255}$/, {
      error: "must be one value of 1 to 255 visible ASCII characters without commas",
    })
    .optional()
    .describe(
      "Makes the call safe to repeat: within 7 days, the same key of the same caller creates one request. Use a new random value for each request.",
    ),
});

/** Returns the headers of a 201. A replay says so, so that the caller does not count it as a new request. */
export const createdHeaders = (location: string, { isReplayed }: { readonly isReplayed: boolean }) => ({
  location,
  ...(isReplayed && { "idempotent-replayed": "true" }),
});
