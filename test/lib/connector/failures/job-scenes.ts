import { orderBody } from "../../../support/connector.ts";
import { ordered, processCredentialRequests, processShipments, programmed } from "./acts.ts";
import { doneOrNot, type Failure, undone, words } from "./failure.ts";
import type { Scene, Stage } from "./stage.ts";

const shipmentOf = async ({ connector, requestId }: Stage) =>
  (await connector.requestRow(requestId)).delivery?.shipmentId ?? "";

/** Responses of the key maker that a careful reader refuses. */
const sabotages: readonly Failure[] = (["wrong-signature", "wrong-key", "other-request", "garbage"] as const).map(
  sabotage => ({
    name: sabotage.replaceAll("-", " "),
    by: {
      begin: async stage => stage.peers.delivery.control(await shipmentOf(stage), { sabotage }),
      end: async stage => stage.peers.delivery.control(await shipmentOf(stage), { sabotage: null }),
    },
  }),
);

const expired: Failure = { name: "expired challenge", by: { begin: ({ peers }) => peers.entra.expireChallenges() } };

const poll = { peer: "delivery", method: "GET", path: "/shipments/[^/]+$" } as const;

export const jobScenes: readonly Scene[] = [
  {
    title: "Poll of a shipment (process-shipments)",
    body: () => orderBody([1]),
    before: ordered,
    act: processShipments,
    steps: [
      { peer: "delivery service", call: "read the shipment", at: poll, failures: undone(words.flat) },
      { peer: "delivery service", call: "responses", at: poll, failures: sabotages },
      {
        peer: "delivery service",
        call: "signing keys",
        at: { peer: "delivery", method: "GET", path: "/sign.jwks" },
        failures: undone(words.flat),
      },
    ],
  },
  {
    title: "Activation (process-credential-requests)",
    body: () => orderBody([1]),
    before: programmed,
    act: processCredentialRequests,
    steps: [
      {
        peer: "Entra ID",
        call: "access token",
        at: { peer: "entra", method: "POST", path: "/oauth2/" },
        failures: undone(words.oauth),
      },
      {
        peer: "Entra ID",
        call: "registration",
        at: { peer: "entra", method: "POST", path: "/fido2Methods$" },
        failures: [...doneOrNot(words.graph), expired],
      },
    ],
  },
  {
    title: "Read-back of an unanswered activation (process-credential-requests)",
    body: () => orderBody([1]),
    before: async stage => {
      await programmed(stage);
      stage.peers.entra.fail({ kind: "drop", phase: "after", method: "POST", path: "/fido2Methods$" });
      await processCredentialRequests(stage, stage.connector);
      stage.connector.advance(stage.connector.context.timing.retryMin);
    },
    act: processCredentialRequests,
    steps: [
      {
        peer: "Entra ID",
        call: "registered keys",
        at: { peer: "entra", method: "GET", path: "/fido2Methods$" },
        failures: undone(words.graph),
      },
    ],
  },
  {
    title: "PIN mail (process-credential-requests)",
    body: () => orderBody([1]),
    before: programmed,
    act: processCredentialRequests,
    steps: [
      { peer: "delivery service", call: "PIN response", at: poll, failures: [...undone(words.flat), ...sabotages] },
      {
        peer: "mail service",
        call: "send",
        at: { peer: "mail", method: "POST", path: "/emails:send$" },
        failures: doneOrNot(words.graph),
      },
      {
        peer: "mail service",
        call: "look-up of an accepted mail",
        at: { peer: "mail", method: "GET", path: "/emails/operations/" },
        failures: undone(words.graph).filter(({ by }) => by !== "away"),
      },
    ],
  },
  {
    title: "Look-up of an unanswered PIN mail (process-credential-requests)",
    body: () => orderBody([1]),
    before: async stage => {
      await programmed(stage);
      stage.peers.mail.fail({ kind: "drop", phase: "after", method: "POST" });
      await processCredentialRequests(stage, stage.connector);
      stage.connector.advance(stage.connector.context.timing.retryMin);
    },
    act: processCredentialRequests,
    steps: [
      {
        peer: "mail service",
        call: "look-up",
        at: { peer: "mail", method: "GET", path: "/emails/operations/" },
        failures: undone(words.graph),
      },
    ],
  },
  {
    title: "Look-up of an unanswered order (process-credential-requests)",
    body: () => orderBody([1]),
    before: async stage => {
      const { peers, connector, requestId } = stage;
      peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
      await ordered(stage).catch(() => {});
      const { delivery } = await connector.requestRow(requestId);
      if (delivery?.sentAt === undefined) throw new Error("the order was not sent");
      connector.advance(connector.context.timing.settleAfter);
    },
    act: processCredentialRequests,
    steps: [
      {
        peer: "delivery service",
        call: "look-up by reference",
        at: { peer: "delivery", method: "GET", path: "/shipments$" },
        failures: undone(words.flat),
      },
    ],
  },
];
