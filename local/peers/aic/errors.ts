import { PeerRefusal } from "../refusal.ts";

/** Returns a refusal of AM. */
export const amRefusal = (status: number, reason: string, message: string, errorCode?: string): PeerRefusal =>
  new PeerRefusal(message, {
    status,
    body: { code: status, reason, message, ...(errorCode && { detail: { errorCode } }) },
  });

export const badRequest = (message: string) => amRefusal(400, "Bad Request", message);
export const notFound = () => amRefusal(404, "Not Found", "Resource cannot be found");
/** The response to every failed journey: AM does not report the reason. */
export const journeyFailure = () => amRefusal(401, "Unauthorized", "Login failure");
export const timedOut = () => amRefusal(401, "Unauthorized", "Session has timed out", "110");
