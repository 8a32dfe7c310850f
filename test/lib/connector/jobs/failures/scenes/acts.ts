import { createBodyV2 } from "../../../../../../lib/connector/api/body-to-draft.ts";
import { createShipmentBodyV1 } from "../../../../../../lib/connector/api/v1-shipment.ts";
import { cancelRequest } from "../../../../../../lib/connector/cancel/cancel-request.ts";
import { revokeNow } from "../../../../../../lib/connector/cancel/revoke-now.ts";
import { createWithId } from "../../../../../../lib/connector/create/create-request.ts";
import { resendPin } from "../../../../../../lib/connector/pin/resend-pin.ts";
import type { Reply } from "../../../../../../lib/platform/http/call.ts";
import { minutes } from "../../../../../../lib/platform/time.ts";
import { idAt } from "../../../../../support/connector/on-site.ts";
import { refusalOf, type TestConnector } from "../../../../../support/connector/test-connector.ts";
import type { Scene, Stage } from "../stage.ts";

/** What a caller gets: status, code, and when to come again. */
async function answerOf(status: number, work: Promise<unknown>): Promise<string> {
  const good: Reply = { status, headers: {} };
  const reply = await work.then(
    done => (typeof done === "number" ? { ...good, status: done } : good),
    () => refusalOf(work),
  );
  const code = (reply.body as { readonly error_code?: string } | undefined)?.error_code;
  const retryAfter = reply.headers?.["retry-after"];
  return [String(reply.status), code, retryAfter && `(Retry-After ${retryAfter})`].filter(Boolean).join(" ");
}

/** Creates the stage's request under its id. */
export const create: Scene["act"] = ({ requestId, body }, { context }) =>
  answerOf(201, createWithId(requestId, createBodyV2.parse(body), {}, context));
export const resend: Scene["act"] = ({ requestId }, { context }) => answerOf(200, resendPin(requestId, context));
export const cancel: Scene["act"] = ({ requestId }, { context }) => answerOf(200, cancelRequest(requestId, context));

const by = { kind: "api_token", application: "help desk" } as const;
export const revoke: Scene["act"] = ({ requestId }, { context }) =>
  answerOf(
    200,
    revokeNow({ requestId }, by, context).then(({ isRevoked }) => (isRevoked ? 200 : 202)),
  );

const job =
  (work: (connector: TestConnector) => Promise<unknown>): Scene["act"] =>
  async (_, connector) => {
    await work(connector);
    return "";
  };
export const processShipments = job(connector => connector.runShipments("timer"));
export const cleanUp = job(connector => connector.runCleanUp(7));
export const processCredentialRequests = job(connector => connector.runCredentials("timer"));

type Before = (stage: Stage) => Promise<void>;

/** The request when it is started: ordered, and not polled yet. */
export const started: Before = async stage => {
  const answer = await create(stage, stage.connector);
  if (answer !== "201") throw new Error(`the create was answered ${answer}`);
};

/** The first look at a started request is due. */
export const ordered: Before = async stage => {
  await started(stage);
  stage.connector.advance(stage.connector.context.intervals.shipmentPoll.minMs);
};

/** As `ordered`, by version 1. */
export const orderedV1: Before = async ({ requestId, body, connector }) => {
  await createWithId(requestId, createShipmentBodyV1.parse(body), {}, connector.context);
  connector.advance(connector.context.intervals.shipmentPoll.minMs);
};

/** Its shipped keys are programmed, and their responses here. */
export const programmed: Before = async stage => {
  await ordered(stage);
  await processShipments(stage, stage.connector);
};

/** Its authenticator is enrolled, and not polled yet. */
export const enrolled: Before = async stage => {
  await started(stage);
  await stage.peers.rfpr.enroll(idAt(stage.requestId));
  stage.connector.advance(stage.connector.context.intervals.enrollmentPoll.minMs);
};

/** After `before`, a job for which calls fail as `broken` has them, then the time until it is due again. */
export const afterBroken =
  (before: Before, broken: (stage: Stage) => void): Before =>
  async stage => {
    await before(stage);
    broken(stage);
    await processCredentialRequests(stage, stage.connector);
    stage.connector.advance(minutes(1));
  };

/** After `before`, everything done: active, and its PIN mailed once. */
export const complete =
  (before: Before): Before =>
  async stage => {
    await before(stage);
    await processCredentialRequests(stage, stage.connector);
  };
