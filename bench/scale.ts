// Growth: due work beside a long history, and many users, on a simulated table server that answers as Azure documents
// it. See docs/scale.md.
import { parseArgs } from "node:util";
import { closePeers, startPeers } from "../local/peers/all.ts";
import { startStorage } from "../local/peers/storage/storage.ts";
import { describeSystem } from "../local/start/system.ts";
import { machine, table } from "./auth/load.ts";
import { type JobResult, runJob } from "./scale/jobs.ts";
import { documentedLimits, type MeterReport } from "./scale/meter.ts";
import { makeModelRequest } from "./scale/model-request.ts";
import { startServer } from "./scale/server.ts";
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
    .map(({ table: name, partition, operations }) => {
      const each = operations / items;
      return { name: `${name}/${partition}`, each, allowed: Math.floor(documentedLimits.partition / each) };
    });

function hottestOf(report: MeterReport, items: number): readonly string[] {
  const [first] = shared(report, items);
  return first === undefined ? ["", "", ""] : [first.name, first.each.toFixed(2), String(first.allowed)];
}

function jobLine({ job, concurrency, processed, deferred, seconds, cpuMs, report }: JobResult): readonly string[] {
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
    String(report.refused),
  ];
}

function operationLine({ operation, count, seconds, report }: OperationResult): readonly string[] {
  return [
    operation,
    (count / seconds).toFixed(0),
    (report.requests / count).toFixed(1),
    ...hottestOf(report, count),
    String(report.refused),
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
const server = await startServer(values["latency-ms"]);
try {
  const { settings, connectionString } = await describeSystem(storage, peers);
  const model = await makeModelRequest(settings, peers);
  const { id, shipmentId } = model;
  const rowsOfEnded = Object.values(model.ended).flat().length;
  const copies = { of: "request", id, shipmentId } as const;
  const rows = await server.fill(
    model.ended,
    { ...copies, first: 1e9 },
    Math.ceil(Number(values.history) / rowsOfEnded),
  );
  await server.fill(model.ordered, { ...copies, first: 2e9 }, due);
  await server.fill(model.programmed, { ...copies, first: 3e9 }, due);
  const user = await makeModelUser(connectionString);
  const userRows = await server.fill(user.model, user.copies, Number(values.users));
  console.log(`${machine()}\n${rows} rows of history, ${2 * due} due requests, ${userRows} rows of users.\n`);
  const jobs: JobResult[] = [];
  const options = {
    seconds: Number(values.seconds),
    peerMs: Number(values["peer-ms"]),
    creates: Number(values.creates),
  };
  jobs.push(await runJob("create", server, model, { ...options, concurrency: 8 }));
  for (const concurrency of values.concurrency.split(",").map(Number))
    for (const job of ["process-shipments", "process-credential-requests"] as const)
      jobs.push(await runJob(job, server, model, { ...options, concurrency }));
  // It reads its whole queue before it begins, which is all of the history here.
  jobs.push(await runJob("clean-up", server, model, { ...options, concurrency: 8, seconds: 3 * options.seconds }));
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
        "refused",
      ],
      ...jobs.map(jobLine),
    ]),
  );
  console.log(
    `\n${jobs.map(({ job, processed, report }) => detailsOf(job, report, Math.max(processed, 1))).join("\n")}\n`,
  );

  const counts = { users: Number(values.users), count: Number(values["sign-ins"]), concurrency: 64 };
  const operations = await runSignIns(server, counts);
  console.log(table([["operation", "a second", "requests", ...hottest, "refused"], ...operations.map(operationLine)]));
  console.log(`\n${operations.map(({ operation, count, report }) => detailsOf(operation, report, count)).join("\n")}`);
} finally {
  await server.stop();
  await closePeers(peers);
  await storage.close();
}
