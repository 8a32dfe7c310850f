import type { Mailer } from "../../peers/mail.ts";
import { traceCall } from "../http/trace.ts";

/** Returns the mailer with its calls traced as those of a peer. */
export const traceMails = (mailer: Mailer): Mailer => ({
  send: mail => traceCall("mail", "send", () => mailer.send(mail)),
  status: operationId => traceCall("mail", "status", () => mailer.status(operationId)),
});
