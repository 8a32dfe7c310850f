import { setTimeout as wait } from "node:timers/promises";
import pLimit from "p-limit";
import type { ConnectorContext } from "../../functions/connector/context.ts";
import { createBodyV2 } from "../../lib/connector/api/body-to-draft.ts";
import { claimStore } from "../../lib/connector/create/claims.table.ts";
import { createRequest } from "../../lib/connector/create/create-request.ts";
import type { ConnectorDeps } from "../../lib/connector/deps.ts";
import { eventStore } from "../../lib/connector/events/events.table.ts";
import { cleanUp } from "../../lib/connector/jobs/clean-up.ts";
import { processCredentialRequests } from "../../lib/connector/jobs/process-credential-requests.ts";
import { processShipments } from "../../lib/connector/jobs/process-shipments.ts";
import { requestStore } from "../../lib/connector/storage/requests.table.ts";
import type { Tables } from "../../lib/platform/azure/tables.ts";
import { days, hours, instant, plus } from "../../lib/platform/time.ts";
import { orderBody } from "../connector/orders.ts";
import type { Metered, meteredTables } from "./metered-tables.ts";
import { benchCaller, type ModelRequest } from "./model-request.ts";

interface JobOptions {
  /** How long a run starts new items. */
  readonly seconds: number;
  readonly concurrency: number;
  /** Time of each call of a peer. */
  readonly peerMs: number;
  /** How many requests are created. */
  readonly creates: number;
}

type Job = "create" | "process-shipments" | "process-credential-requests" | "clean-up";

export interface JobResult extends Metered<Work> {
  readonly job: Job;
  readonly concurrency: number;
  readonly cpuMs: number;
}

interface Work {
  readonly processed: number;
  /** Items that were deferred when the time of the run ended. */
  readonly deferred: number;
}

/** The real operations, on copies of the model at different moments. */
const works: Readonly<
  Record<Job, (context: ConnectorContext, model: ModelRequest, options: JobOptions) => Promise<Work>>
> = {
  create: async (context, { context: own }, { creates, concurrency }) => {
    // The delivery service and the IdP are the simulated ones, which use the same cores.
    const peers = { ...context, now: own.now, delivery: own.delivery, idps: own.idps };
    const limit = pLimit(concurrency);
    const create = () => createRequest(createBodyV2.parse(orderBody(1, 1)), { caller: benchCaller }, peers);
    await Promise.all(Array.from({ length: creates }, () => limit(create)));
    return { processed: creates, deferred: 0 };
  },
  "process-shipments": async context => {
    const { answered, deferred } = await processShipments("timer", context);
    return { processed: answered, deferred };
  },
  "process-credential-requests": async context => {
    const { activated, deferred } = await processCredentialRequests("timer", context);
    return { processed: activated, deferred };
  },
  "clean-up": async context => {
    const now = () => plus(instant(Date.now()), days(3));
    const { deleted, archived, deferred } = await cleanUp(1, { ...context, now });
    return { processed: deleted + archived, deferred };
  },
};

/** Runs one job on the rows of the tables. */
export async function runJob(
  job: Job,
  { tables, metered }: ReturnType<typeof meteredTables>,
  model: ModelRequest,
  options: JobOptions,
): Promise<JobResult> {
  const context = contextOn(tables, model, options);
  const before = process.cpuUsage();
  const done = await metered(() => works[job](context, model, options));
  const { user, system } = process.cpuUsage(before);
  return { job, concurrency: options.concurrency, ...done, cpuMs: (user + system) / 1000 };
}

/** The real code on these tables. Peers answer after a fixed time with what they answered for the model. */
function contextOn(tables: Tables, model: ModelRequest, options: JobOptions): ConnectorContext {
  const { context: own, id: modelId, ongoing } = model;
  const { concurrency, peerMs, seconds } = options;
  // Everything that the model has in its queues is due by now.
  const now = () => plus(instant(Date.now()), hours(2));
  const requests = requestStore(tables, { shipmentsTable: "fprshipments", now, log: own.log });
  const events = eventStore(tables, { sinks: [], now, log: own.log });
  const responses = own.responses;
  const cached = new Map<string, ReturnType<typeof responses.get>>();
  const idpOf: ConnectorDeps["idps"]["get"] = id => {
    const idp = own.idps.get(id);
    return idp && { ...idp, activate: () => wait(peerMs) };
  };
  return {
    ...own,
    requests,
    events,
    claims: claimStore(tables),
    now,
    concurrency,
    intervals: { ...own.intervals, jobTimerMs: seconds * 1000 },
    delivery: {
      ...own.delivery,
      getShipment: async shipmentId => {
        await wait(peerMs);
        return { ...ongoing, shipmentId };
      },
    },
    idps: { ...own.idps, get: idpOf },
    mailer: { send: () => wait(peerMs), status: async () => ({ status: "succeeded" }) },
    responses: {
      ...responses,
      removeAll: () => wait(5),
      get: async name => {
        const ofModel = name.replace(/^[^/]+/, modelId);
        const found = cached.get(ofModel) ?? responses.get(ofModel);
        cached.set(ofModel, found);
        await wait(5);
        return found;
      },
    },
    sealer: {
      ...own.sealer,
      // The copies have the model's sealed values, which open with the model's row alone.
      open: (sealed, context) => {
        const [, rowKey = ""] = context.row.split("/");
        return own.sealer.open(sealed, { ...context, row: `${modelId}/${rowKey}` });
      },
    },
  };
}
