import { Fault, type FaultDetails } from "../../fault.ts";

/** Returns the refusal of a token. The response is the same for every reason; the reason is for the log. */
export const badToken = (reason: string, details: FaultDetails = {}): Fault =>
  new Fault("unauthenticated", "The bearer token is not valid.", { ...details, reason });
