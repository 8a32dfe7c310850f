import * as z from "zod";

/** The id of a credential request in a path, in any case (RFC 9562 section 4). A text that is no id gets 404. */
export const requestIdPath = z.object({
  credential_request_id: z.string().toLowerCase().meta({ description: "The credential request id, in any case." }),
});

/** The query of a GET that changes something: a parameter is refused, as that of a POST without a query. */
export const noParameters = z.object({});

/** The id of a shipment in a path. */
export const shipmentIdPath = z.lazy(() =>
  z.object({ shipment_id: z.string().meta({ description: "The delivery service's id." }) }),
);
