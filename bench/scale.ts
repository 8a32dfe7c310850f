// Growth: due work beside a long history, and many users, on tables in memory whose operations are counted. See
// docs/scale.md.
import { parseArgs } from "node:util";
import { closePeers, startPeers } from "../local/peers/all.ts";
import { startStorage } from "../local/peers/storage/storage.ts";
import { describeSystem } from "../local/start/system.ts";
import { memoryTables } from "../test/support/storage/memory-tables.ts";
import { machine, table } from "./auth/load.ts";
import { fill, requestCopy } from "./scale/clone.ts";
import { type JobResult, runJob } from "./scale/jobs.ts";
import { documentedLimits, type MeterReport, meteredTables } from "./scale/metered-tables.ts";
import { makeModelRequest } from "./scale/model-request.ts";
import { makeModelUser, type OperationResult, runSignIns } from "./scale/sign-ins.ts";

const { values } = parseArgs({
  options: {
    due: { type: "string", default: "20000" },
    history: { type: "string", default: "1000000" },
    users: { type: "string", default: "100000" },
    seconds: { type: "string", default: "8" },
    concurrency: { type: "string", default: "8,64" },
    "peer-ms": { type: "string", default: "200" },
    "latency-ms": { type: "string", default: "3,10" },
    creates: { type: "string", default: "100" },
    "sign-ins": { type: "string", default: "1000" },
  },
});
const due = Number(values.due);

/** The partitions that items share, the hottest first: the operations of each item, and how many items a second they allow. */
const shared = ({ hottest }: MeterReport, items: number) =>
  hottest
    .filter(({ operations }) => operations > Math.max(10, items / 20))
    .map(({ partition, operations }) => {
      const each = operations / items;
      return { name: partition, each, allowed: Math.floor(documentedLimits.partition / each) };
    });

function hottestOf(report: MeterReport, items: number): readonly string[] {
  const [first] = shared(report, items);
  return first === undefined ? ["", "", ""] : [first.name, first.each.toFixed(2), String(first.allowed)];
}

function jobLine({ job, concurrency, result, seconds, cpuMs, report }: JobResult): readonly string[] {
  const { processed, deferred } = result;
  const rate = processed / seconds;
  const items = Math.max(processed, 1);
  return [
    `${job}, ${concurrency} at once`,
    String(processed),
    String(deferred),
    rate.toFixed(1),
    processed === 0 ? "" : (due / rate / 60).toFixed(0),
    (cpuMs / items).toFixed(1),
    (report.requests / items).toFixed(1),
    ...hottestOf(report, items),
    String(report.peak),
    String(report.beyond),
  ];
}

function operationLine({ operation, count, seconds, report }: OperationResult): readonly string[] {
  return [
    operation,
    (count / seconds).toFixed(0),
    (report.requests / count).toFixed(1),
    ...hottestOf(report, count),
    String(report.beyond),
  ];
}

/** The calls of each item, and the operations on shared partitions. */
function detailsOf(name: string, report: MeterReport, items: number): string {
  const calls = Object.entries(report.byKind).map(([kind, count]) => `${kind} ${(count / items).toFixed(2)}`);
  const partitions = shared(report, items).map(({ name: partition, each }) => `${partition} ${each.toFixed(2)}`);
  return `- ${name}: ${calls.join(", ")}\n  shared partitions: ${partitions.join(", ")}`;
}

const storage = await startStorage();
const peers = await startPeers();
const rowsInMemory = memoryTables();
const [least = 3, most = 10] = values["latency-ms"].split(",").map(Number);
const tables = meteredTables(rowsInMemory, [least, most]);
try {
  const { settings } = await describeSystem(storage, peers);
  const model = await makeModelRequest(settings, peers);
  const identity = { texts: [model.id, model.shipmentId], numbers: [] };
  const copiesFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => requestCopy(first + n));
  const rowsOfEnded = Object.values(model.ended).flat().length;
  const history = copiesFrom(1e9, Math.ceil(Number(values.history) / rowsOfEnded));
  const rows = fill(rowsInMemory, { rows: model.ended, identity }, history);
  fill(rowsInMemory, { rows: model.ordered, identity }, copiesFrom(2e9, due));
  fill(rowsInMemory, { rows: model.programmed, identity }, copiesFrom(3e9, due));
  const user = await makeModelUser();
  const users = Array.from({ length: Number(values.users) }, (_, n) => user.copy(n));
  const userRows = fill(rowsInMemory, user, users);
  console.log(`${machine()}\n${rows} rows of history, ${2 * due} due requests, ${userRows} rows of users.\n`);
  const jobs: JobResult[] = [];
  const options = {
    seconds: Number(values.seconds),
    peerMs: Number(values["peer-ms"]),
    creates: Number(values.creates),
  };
  jobs.push(await runJob("create", tables, model, { ...options, concurrency: 8 }));
  for (const concurrency of values.concurrency.split(",").map(Number))
    for (const job of ["process-shipments", "process-credential-requests"] as const)
      jobs.push(await runJob(job, tables, model, { ...options, concurrency }));
  // It reads its whole queue before it begins, which is all of the history here.
  jobs.push(await runJob("clean-up", tables, model, { ...options, concurrency: 8, seconds: 3 * options.seconds }));
  const hottest = ["hottest partition", "its operations each", "allows a second"];
  console.log(
    table([
      [
        "job",
        "done",
        "deferred",
        "a second",
        `minutes for ${due}`,
        "CPU ms",
        "requests",
        ...hottest,
        "peak",
        "beyond limits",
      ],
      ...jobs.map(jobLine),
    ]),
  );
  console.log(
    `\n${jobs.map(({ job, result, report }) => detailsOf(job, report, Math.max(result.processed, 1))).join("\n")}\n`,
  );

  const counts = { users: Number(values.users), count: Number(values["sign-ins"]), concurrency: 64 };
  const operations = await runSignIns(tables, counts);
  console.log(
    table([["operation", "a second", "requests", ...hottest, "beyond limits"], ...operations.map(operationLine)]),
  );
  console.log(`\n${operations.map(({ operation, count, report }) => detailsOf(operation, report, count)).join("\n")}`);
} finally {
  await closePeers(peers);
  await storage.close();
}
