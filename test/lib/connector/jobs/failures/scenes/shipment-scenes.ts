import { minutes } from "../../../../../../lib/platform/time.ts";
import type { Failure, Scene, Stage } from "../stage.ts";
import {
  afterBroken,
  complete,
  create,
  ordered,
  processCredentialRequests,
  processShipments,
  programmed,
  revoke,
} from "./acts.ts";
import { mixed, shipped } from "./bodies.ts";
import { aic, also, as, delivery, enrollment, entra, expired, pingone, refusing, wrongShipments } from "./calls.ts";
import { words } from "./failure.ts";

const ownMissing: Failure = { name: "404 of its own", by: { kind: "refuse", status: 404, body: words.flat(404) } };

/** The activation is done, and its answer lost. */
const unansweredAt = (idp: "entra" | "pingone" | "aic", path: string) =>
  afterBroken(programmed, ({ peers }) => peers[idp].fail({ kind: "drop", phase: "after", method: "POST", path }));

const refused = { code: "validation_error", message: "The address is not known." };

/** A create that the delivery service refused and that could not be compensated. */
async function leftToUndo(stage: Stage): Promise<void> {
  const { peers, connector } = stage;
  peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: refused });
  peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", times: 10 });
  peers.rfpr.fail({ kind: "refuse", method: "DELETE", times: 10 });
  await create(stage, connector);
  for (const peer of [peers.delivery, peers.pingone, peers.rfpr]) peer.clearFaults();
  connector.advance(minutes(5));
}

/** A create whose order was taken, and the answer lost. */
async function leftToLookUp(stage: Stage): Promise<void> {
  stage.peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
  await create(stage, stage.connector);
  stage.connector.advance(minutes(15));
}

const activation = "Activation, process-credential-requests";
const revocation = "Revocation of an active credential";
const readBack = "Read-back of an activation that was done and not answered, process-credential-requests";
const registrations = { method: "POST", path: "/fido2Methods$" };

export const shipmentScenes: readonly Scene[] = [
  {
    title: "Poll of a shipment, process-shipments",
    body: shipped(),
    before: ordered,
    act: processShipments,
    steps: [
      also(delivery.shipment, ownMissing),
      { ...as("responses", delivery.shipment), failures: wrongShipments },
      delivery.signingKeys,
    ],
  },
  {
    title: activation,
    body: shipped("entra"),
    before: programmed,
    act: processCredentialRequests,
    steps: [
      delivery.signingKeys,
      entra.token,
      also(entra.registration, expired("entra"), refusing("entra", "unknown")),
    ],
  },
  {
    title: activation,
    body: shipped("pingone"),
    before: programmed,
    act: processCredentialRequests,
    steps: [also(pingone.activation, expired("pingone"), refusing("pingone", "unknown")), pingone.name],
  },
  {
    title: activation,
    body: shipped("aic"),
    before: programmed,
    act: processCredentialRequests,
    steps: [also(aic.key, expired("aic"), refusing("aic", "unknown"))],
  },
  {
    title: readBack,
    body: shipped("entra"),
    before: unansweredAt("entra", registrations.path),
    act: processCredentialRequests,
    steps: [entra.registered],
  },
  {
    title: readBack,
    body: shipped("pingone"),
    before: unansweredAt("pingone", "/devices/[^/]+$"),
    act: processCredentialRequests,
    steps: [pingone.look],
  },
  {
    title: readBack,
    body: shipped("aic"),
    before: unansweredAt("aic", "/authenticate$"),
    act: processCredentialRequests,
    steps: [as("key's step once more", aic.key)],
  },
  {
    title: revocation,
    body: shipped("entra"),
    before: complete(programmed),
    act: revoke,
    steps: [entra.registered, entra.removal],
  },
  {
    title: revocation,
    body: shipped("pingone"),
    before: complete(programmed),
    act: revoke,
    steps: [pingone.removal],
  },
  {
    title: revocation,
    body: shipped("aic"),
    before: complete(programmed),
    act: revoke,
    steps: [aic.devices, aic.removal],
  },
  {
    title: "Look-up of an order that was taken and not answered, process-credential-requests",
    body: shipped(),
    before: leftToLookUp,
    act: processCredentialRequests,
    steps: [delivery.lookUp],
  },
  {
    title: "Compensation left over by a create, process-credential-requests",
    body: mixed("pingone"),
    before: leftToUndo,
    act: processCredentialRequests,
    steps: [pingone.look, pingone.removal, enrollment.removal],
  },
];
