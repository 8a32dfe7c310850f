import * as z from "zod";
import { omitUndefined } from "../../../platform/omit-undefined.ts";

/** Version 2 answer to a create (specification section 4). */
export const createdV2 = z.lazy(() =>
  z.object({
    data: z
      .object({
        credential_request_id: z.string().describe("Names the request."),
        shipment_id: z.string().optional().describe("The delivery service's id, if keys are shipped."),
      })
      .meta({ id: "CreatedCredentialRequest" }),
  }),
);

/** The answer to a create, in the specification's names. */
export const created = (done: {
  readonly requestId: string;
  readonly shipmentId?: string;
}): z.output<typeof createdV2> => ({
  data: omitUndefined({ credential_request_id: done.requestId, shipment_id: done.shipmentId }),
});
