// From the start of a process to its first answers: the package compared with a function app that does nothing. See
// README.md.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { buildPackage } from "../local/package/build.ts";
import { writePackage, zipPackage } from "../local/package/files.ts";
import { ownPlatform } from "../local/package/native.ts";
import type { Served } from "../local/package/serve.ts";
import { closePeers, startPeers } from "../local/peers/all.ts";
import { startStorage } from "../local/peers/storage/storage.ts";
import { describeSystem } from "../local/start/system.ts";
import { quantile, table } from "./auth/load.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "15" }, instructions: { type: "boolean", default: false } },
});

/** One way to start. */
interface Start {
  readonly name: string;
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Answered by the app's code without a call to a peer. */
  readonly path: string;
}

/** Milliseconds of loading the app alone, and from the start of the process to its answers: by the clock, and of CPU. */
interface Times {
  readonly loadMs: number;
  readonly answerMs: number;
  readonly answerCpuMs: number;
  readonly healthMs: number;
  readonly healthCpuMs: number;
}

/** A function app that does nothing, bundled as ours is. */
async function emptyApp(folder: string): Promise<void> {
  const source = `
    import { app } from "@azure/functions";
    app.http("health", { methods: ["GET"], route: "health", handler: async () => ({ status: 200, body: "ok" }) });`;
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: "." },
    bundle: true,
    platform: "node",
    format: "esm",
    minify: true,
    write: false,
    outdir: "dist",
    external: ["@azure/functions-core"],
    banner: { js: 'import{createRequire as makeRequire}from"node:module";const require=makeRequire(import.meta.url);' },
  });
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  writePackage(
    folder,
    new Map<string, Uint8Array>([
      ["package.json", json({ type: "module", main: "main.js" })],
      ["host.json", json({ version: "2.0", extensions: { http: { routePrefix: "" } } })],
      ["main.js", outputFiles[0]?.contents ?? new Uint8Array()],
    ]),
  );
}

const nodeOptions = ["--disable-warning=ExperimentalWarning"];

async function timed({ folder, settings, path }: Start): Promise<Times> {
  const began = performance.now();
  const child = fork("local/package/serve.ts", [folder], {
    env: { PATH: process.env.PATH, ...settings },
    execArgv: nodeOptions,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [served] = await once(child, "message");
  const { url, loadMs } = served as Served;
  const until = async (asked: string, answers: (status: number) => boolean): Promise<number> => {
    const response = await fetch(url + asked);
    await response.arrayBuffer();
    if (!answers(response.status)) throw new Error(`${asked}: answered ${response.status}`);
    return performance.now() - began;
  };
  const cpuMs = async (): Promise<number> => {
    child.send("cpu");
    const [used] = await once(child, "message");
    return used;
  };
  const answerMs = await until(path, status => status === 200 || status === 401);
  const answerCpuMs = await cpuMs();
  const healthMs = await until("/health", status => status === 200);
  const healthCpuMs = await cpuMs();
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  return { loadMs, answerMs, answerCpuMs, healthMs, healthCpuMs };
}

/** Returns the millions of instructions from the start of the process to its first answer, which valgrind counts. */
async function countInstructions({ folder, settings, path }: Start): Promise<number> {
  const child = fork("local/package/serve.ts", [folder], {
    env: { PATH: process.env.PATH, ...settings },
    execPath: "valgrind",
    execArgv: [
      "--tool=cachegrind",
      "--cache-sim=no",
      "--cachegrind-out-file=/dev/null",
      process.execPath,
      ...nodeOptions,
    ],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const printed = child.stderr === null ? Promise.resolve("") : text(child.stderr);
  const [served] = await once(child, "message");
  await (await fetch((served as Served).url + path)).arrayBuffer();
  child.disconnect();
  const [, counted] = /I\s+refs:\s+([\d,]+)/.exec(await printed) ?? [];
  if (counted === undefined) throw new Error(`valgrind counted nothing: ${await printed}`);
  return Number(counted.replaceAll(",", "")) / 1e6;
}

function startsOf(directory: string, settings: Readonly<Record<string, string>>): readonly Start[] {
  const own = (name: string, apis: string, path: string, more = {}): Start => ({
    name,
    folder: join(directory, "package"),
    settings: { ...settings, SERVICE_APIS: apis, ...more },
    path,
  });
  return [
    { name: "empty", folder: join(directory, "empty"), settings: {}, path: "/health" },
    own("core", "core", "/core/users"),
    own("client", "client", "/client/status"),
    own("connector", "connector", "/v2/status"),
    own("connector, telemetry", "connector", "/v2/status", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }),
  ];
}

const directory = mkdtempSync(join(tmpdir(), "cold-start-"));
const storage = await startStorage();
const peers = await startPeers();
const { settings } = await describeSystem(storage, peers);
try {
  const files = await buildPackage(resolve("."), ownPlatform("."));
  writePackage(join(directory, "package"), files);
  await emptyApp(join(directory, "empty"));
  const starts = startsOf(directory, settings);
  if (values.instructions) {
    const counts: (readonly [string, number])[] = [];
    for (const start of starts) counts.push([start.name, await countInstructions(start)]);
    const [[, empty] = ["", Number.NaN]] = counts;
    const rows = counts.map(([name, count]) => [name, count.toFixed(0), (count / empty).toFixed(2)]);
    console.log(table([["to the first answer", "million instructions", "to empty"], ...rows]));
  } else {
    const times = new Map<Start, Times[]>(starts.map(start => [start, []]));
    // The first of each warms the disk's cache.
    for (const start of starts) await timed(start);
    for (let round = 0; round < Number(values.rounds); round++) {
      // By turns, so that other load affects all alike.
      for (const start of starts) times.get(start)?.push(await timed(start));
    }
    console.log(report(times));
  }
  console.log(`\nThe package: ${(zipPackage(files).byteLength / 1024 / 1024).toFixed(2)} MiB zipped.`);
} finally {
  await closePeers(peers);
  await storage.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Medians, and medians of each round's ratio to the empty app of the same round. */
function report(times: ReadonlyMap<Start, readonly Times[]>): string {
  const parts = ["loadMs", "answerMs", "answerCpuMs", "healthMs", "healthCpuMs"] as const;
  const [empty = []] = times.values();
  const ratios = (all: readonly Times[], part: keyof Times): readonly number[] =>
    all.map((one, round) => one[part] / (empty[round]?.[part] ?? Number.NaN));
  const rows = [...times].map(([{ name }, all]) => [
    name,
    ...parts.map(part => {
      const middle = quantile(
        all.map(one => one[part]),
        0.5,
      ).toFixed(0);
      return part === "loadMs" || all === empty ? middle : `${middle} (${quantile(ratios(all, part), 0.5).toFixed(2)})`;
    }),
  ]);
  const head = ["ms (to empty)", "load", "first answer", "its CPU", "first health", "its CPU"];
  return table([head, ...rows]);
}
