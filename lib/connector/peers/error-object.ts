import * as z from "zod";
import { anyResponse } from "../../platform/peers/call-peer.ts";

/** The error object of the delivery service and of the pre-registration API. */
const errorObject = z.object({ code: z.string(), message: z.string().nullish() });

/** Accepts an empty or a JSON body of a 2xx response, except the error object, which a gateway may pass on with 200. */
export const noErrorObject = anyResponse.refine(body => !errorObject.safeParse(body).success);

/** Returns the code and the text of an error object; both are undefined for any other body. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | null | undefined } {
  const { code, message } = errorObject.safeParse(body).data ?? {};
  return { code, detail: message };
}
