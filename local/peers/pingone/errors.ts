import { randomUUID } from "node:crypto";
import { PeerRefusal } from "../refusal.ts";

interface Detail {
  readonly code: string;
  readonly target?: string;
  readonly message: string;
}

/** Returns a refusal of PingOne. */
export const pingOneRefusal = (status: number, code: string, message: string, detail?: Detail): PeerRefusal =>
  new PeerRefusal(message, {
    status,
    body: { id: randomUUID(), code, message, ...(detail && { details: [detail] }) },
  });

export const notFound = () => pingOneRefusal(404, "NOT_FOUND", "The requested resource object cannot be found.");

export const invalid = (target: string, message: string) =>
  pingOneRefusal(400, "INVALID_DATA", "The request could not be completed. One or more validation errors were in it.", {
    code: "INVALID_VALUE",
    target,
    message,
  });

/** The status is that of throttling; only the detail shows that waiting does not help. */
export const tooManyDevices = () =>
  pingOneRefusal(429, "REQUEST_LIMITED", "The request was limited.", {
    code: "LIMIT_EXCEEDED",
    target: "devices",
    message: "The user has as many devices as are allowed.",
  });
