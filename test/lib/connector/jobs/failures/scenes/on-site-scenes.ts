import { days, hours, minutes } from "../../../../../../lib/platform/time.ts";
import { authenticatorsOf, idAt } from "../../../../../support/connector/on-site.ts";
import type { Failure, Scene, Stage } from "../stage.ts";
import { cancel, cleanUp, complete, enrolled, processCredentialRequests, started } from "./acts.ts";
import { mixed, onSite } from "./bodies.ts";
import { as, delivery, enrollment, pingone, wrongResponses } from "./calls.ts";
import { words } from "./failure.ts";

const wrongEnrollments = wrongResponses(({ peers, requestId }, sabotage) =>
  peers.rfpr.control(idAt(requestId), { sabotage }),
);

/** How an authenticator that waits may end. */
const ends: readonly Failure[] = [
  {
    name: "declined on site",
    by: { begin: ({ peers, requestId }) => peers.rfpr.control(idAt(requestId), { decline: "" }) },
  },
  {
    name: "not to be enrolled",
    by: { begin: ({ peers, requestId }) => peers.rfpr.control(idAt(requestId), { fail: "" }) },
  },
  {
    name: "deleted there",
    by: { begin: ({ connector, requestId }) => connector.context.rfpr?.remove(idAt(requestId)) },
  },
  { name: "404 of its own", by: { kind: "refuse", status: 404, body: words.flat(404) } },
];

/** Not enrolled yet, its first poll due. */
const waiting = async (stage: Stage): Promise<void> => {
  await started(stage);
  stage.connector.advance(stage.connector.context.intervals.enrollmentPoll.minMs);
};

/** A shipment that the service has not started, an authenticator that waits. */
async function notProduced(stage: Stage): Promise<void> {
  stage.peers.delivery.settings({ shipAfterMs: hours(10) });
  await started(stage);
  // The time of its create handler is over.
  stage.connector.advance(1000);
}

/** The job continues a cancel while the shipment is not started. */
async function resumed(stage: Stage): Promise<void> {
  stage.connector.advance(minutes(2));
  await processCredentialRequests(stage, stage.connector);
}

const unanswered = (stage: Stage) => stage.peers.delivery.fail({ kind: "drop", method: "DELETE", times: 2 });

export const onSiteScenes: readonly Scene[] = [
  {
    title: "Poll of an authenticator that is enrolled, process-credential-requests",
    body: onSite(),
    before: enrolled,
    act: processCredentialRequests,
    steps: [
      enrollment.token,
      enrollment.read,
      { ...as("responses", enrollment.read), failures: wrongEnrollments },
      delivery.signingKeys,
    ],
  },
  {
    title: "Poll of an authenticator that waits, process-credential-requests",
    body: onSite(),
    before: waiting,
    act: processCredentialRequests,
    steps: [{ ...enrollment.read, failures: ends }],
  },
  {
    title: "Cancel of a shipment and an authenticator",
    body: mixed("pingone"),
    before: notProduced,
    act: cancel,
    after: resumed,
    steps: [delivery.deletion, enrollment.cancel, pingone.look, pingone.removal],
  },
  {
    title: "Cancel, the first deletion not answered",
    body: mixed("pingone"),
    before: async stage => {
      await notProduced(stage);
      unanswered(stage);
    },
    act: cancel,
    after: resumed,
    steps: [as("shipment, read back", delivery.shipment)],
  },
  {
    title: "Clean-up of an authenticator's request",
    body: onSite(),
    before: async stage => {
      await complete(enrolled)(stage);
      stage.connector.advance(days(8));
    },
    act: cleanUp,
    after: async stage => {
      stage.connector.advance(hours(2));
      await cleanUp(stage, stage.connector);
    },
    wrong: async ({ connector, peers, requestId }) => [
      ...((await connector.context.requests.load(requestId)) === undefined ? [] : ["the request stays"]),
      ...authenticatorsOf(peers, requestId).map(({ id }) => `${id} stays at the pre-registration API`),
    ],
    steps: [enrollment.removal],
  },
];
