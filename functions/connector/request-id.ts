import * as z from "zod";

/** The id of a credential request in a path. Every text is accepted: one that cannot be an id gets 404. */
export const requestIdPath = z.object({
  credential_request_id: z.string().meta({ description: "The credential request id." }),
});
