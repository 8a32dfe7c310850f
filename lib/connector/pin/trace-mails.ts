import type { Mailer } from "../deps.ts";
import { tellCall } from "../http/trace.ts";

/** A mailer whose calls are told as those of a peer. */
export const tellMails = (mailer: Mailer): Mailer => ({
  send: mail => tellCall("mail", "send", () => mailer.send(mail)),
  status: operationId => tellCall("mail", "status", () => mailer.status(operationId)),
});
