import { Fault, type FaultDetails } from "../../fault.ts";

/** Returns the Fault for an invalid token. The reason is only logged, so that the response does not reveal it. */
export const badToken = (reason: string, details: FaultDetails = {}): Fault =>
  new Fault("unauthenticated", "The bearer token is not valid.", { ...details, reason });
