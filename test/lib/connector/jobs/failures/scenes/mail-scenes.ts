import { shipmentBodyV1 } from "../../../api/shipment-body-v1.ts";
import type { Failure, Scene } from "../stage.ts";
import {
  afterBroken,
  complete,
  enrolled,
  orderedV1,
  processCredentialRequests,
  processShipments,
  programmed,
  resend,
} from "./acts.ts";
import { onSite, shipped } from "./bodies.ts";
import { also, as, delivery, enrollment, entra, later, mail, wrongShipments } from "./calls.ts";

const undelivered: Failure = {
  name: "taken, then failed",
  by: { begin: ({ peers }) => peers.mail.outcome({ status: "Failed", runningPolls: 0 }) },
};

const lookUp = as("look-up of a mail that was taken", mail.lookUp);

export const mailScenes: readonly Scene[] = [
  {
    title: "PIN email of a shipped key, process-credential-requests",
    body: shipped(),
    before: programmed,
    act: processCredentialRequests,
    steps: [also(as("PIN response", delivery.shipment), ...wrongShipments), also(mail.send, undelivered), lookUp],
  },
  {
    title: "PIN email of an authenticator, process-credential-requests",
    body: onSite(),
    before: enrolled,
    act: processCredentialRequests,
    // The first read brings the responses.
    steps: [later(1, as("PIN response", enrollment.read))],
  },
  {
    title: "Look-up of a PIN email that was taken and not answered, process-credential-requests",
    body: shipped(),
    before: afterBroken(programmed, ({ peers }) => peers.mail.fail({ kind: "drop", phase: "after", method: "POST" })),
    act: processCredentialRequests,
    steps: [mail.lookUp],
  },
  {
    title: "resend-pin of a shipped key",
    body: shipped(),
    before: complete(programmed),
    act: resend,
    mails: [1, 2],
    steps: [as("PIN response", delivery.shipment), also(mail.send, undelivered), lookUp],
  },
  {
    title: "resend-pin of an authenticator",
    body: onSite(),
    before: complete(enrolled),
    act: resend,
    mails: [1, 2],
    steps: [as("PIN response", enrollment.read)],
  },
  {
    title: "Version 1 shipment, process-shipments",
    body: () => shipmentBodyV1(),
    before: orderedV1,
    act: processShipments,
    steps: [delivery.shipment, entra.registration, mail.send],
  },
];
