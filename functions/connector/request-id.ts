import * as z from "zod";

/** A credential request id in a path. Any text is taken: what can be no id names no request (404, decision C1). */
export const requestIdPath = z.object({
  credential_request_id: z.string().meta({ description: "The credential request id." }),
});
