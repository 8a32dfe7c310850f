import { createUnder } from "../../../../lib/connector/create-request.ts";
import { createBodyV2, createV2 } from "../../../../lib/connector/wire-v2-create.ts";
import type { Reply } from "../../../../lib/http/call.ts";
import { refusalOf, type TestConnector } from "../../../support/connector.ts";
import type { Scene, Stage } from "./stage.ts";

/** What a caller is told: status, code, and when to come again. */
async function answerOf(status: number, work: Promise<unknown>): Promise<string> {
  const good: Reply = { status, headers: {} };
  const reply = await work.then(
    () => good,
    () => refusalOf(work),
  );
  const code = (reply.body as { readonly error_code?: string } | undefined)?.error_code;
  const retryAfter = reply.headers?.["retry-after"];
  return [String(reply.status), code, retryAfter && `(Retry-After ${retryAfter})`].filter(Boolean).join(" ");
}

/** Creates the stage's request under its id. */
export const create: Scene["act"] = ({ requestId, body }, { context }) =>
  answerOf(201, createUnder(requestId, createBodyV2.parse(body), createV2, context));

const job =
  (work: (connector: TestConnector) => Promise<unknown>): Scene["act"] =>
  async (_, connector) => {
    await work(connector);
    return "";
  };

export const processShipments = job(connector => connector.runShipments("timer"));
export const processCredentialRequests = job(connector => connector.runCredentials("timer"));

/** The request, ordered and not looked at yet; its shipment's first poll is due. */
export async function ordered(stage: Stage): Promise<void> {
  const answer = await create(stage, stage.connector);
  if (answer !== "201") throw new Error(`the create was answered ${answer}`);
  stage.connector.advance(stage.connector.context.timing.pollAfter);
}

/** The request with its keys programmed and their responses here. */
export async function programmed(stage: Stage): Promise<void> {
  await ordered(stage);
  await processShipments(stage, stage.connector);
}
