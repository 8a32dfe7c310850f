import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { choosePorts, requireFreePort } from "../../../local/start/ports.ts";
import type { Facts } from "../../../local/start/run-file.ts";
import { sampleRequest } from "../../../local/start/sample-request.ts";
import { emptyDirectory, endAll, launchStart, listens, type StartProcess } from "./start-process.ts";

const repository = join(import.meta.dirname, "../../..");
const canPaste = spawnSync("bash", ["-c", "curl --version"]).status === 0;

const peerNames = ["vault", "issuer", "delivery", "enrollment", "rfpr", "entra", "pingone", "aic", "mail", "sink"];

let system: StartProcess;
let facts: Facts;

const call = async (method: string, path: string, { host, tokens }: Facts = facts, body?: object) => {
  const headers = { authorization: `Bearer ${tokens.connector}`, "content-type": "application/json" };
  const response = await fetch(host + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
};
const portOf = (address: string) => ({ host: "127.0.0.1", port: Number(new URL(address).port) });
const storageLock = (directory: string) => ({ path: join(directory, "azurite", "azurite.lock") });

beforeAll(async () => {
  const directory = emptyDirectory();
  // The sample first, as a developer does who copies it, then values of his own.
  copyFileSync(join(repository, "local.settings.sample.json"), join(directory, "local.settings.json"));
  const file = JSON.parse(readFileSync(join(directory, "local.settings.json"), "utf8"));
  Object.assign(file.Values, { CRON_DATA_CLEANUP_COMPLETED_DAYS: "11", RFPR_RETRY_NUMBER_DAYS: "5" });
  writeFileSync(join(directory, "local.settings.json"), JSON.stringify(file));
  system = launchStart([], { directory, env: { RFPR_RETRY_NUMBER_DAYS: "6" } });
  facts = await system.ready();
});
afterAll(endAll);

test("run.json has the addresses and tokens of host, storage and peers, and the process id", async () => {
  const facts = JSON.parse(readFileSync(join(system.directory, "run.json"), "utf8"));
  const address = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(facts).toEqual({
    host: address,
    tokens: { core: expect.any(String), connector: expect.any(String) },
    secrets: { eventSinks: [expect.stringMatching(/^whsec_/)] },
    storage: expect.stringMatching(/^DefaultEndpointsProtocol=http;AccountName=/),
    peers: expect.objectContaining(Object.fromEntries(peerNames.map(name => [name, address]))),
    pid: system.child.pid,
    console: address,
    masterKey: expect.any(String),
  });
  expect(statSync(join(system.directory, "run.json")).mode & 0o077).toBe(0);
  expect((await fetch(`${facts.host}/health`)).status).toBe(200);
});

test("the banner has every address and token", () => {
  for (const word of [facts.host, ...Object.values(facts.peers), ...Object.values(facts.tokens)])
    expect(system.output()).toContain(word);
  expect(system.output()).toContain(join(system.directory, "run.json"));
});

test("settings come from local.settings.json, then from the environment, and a copied sample changes nothing", async () => {
  const { status, body } = await call("GET", "/v2/status");
  expect(status).toBe(200);
  expect(body).toMatchObject({ CRON_DATA_CLEANUP_COMPLETED_DAYS: "11", RFPR_RETRY_NUMBER_DAYS: "6" });
  expect(body).toMatchObject({
    IDP_DEFAULT: "entra",
    IDP_CONFIGURATIONS: {
      entra: { type: "entra", "graph-endpoint": facts.peers.entra },
      pingone: { type: "pingone", "api-base-url": facts.peers.pingone },
      aic: { type: "aic", "api-base-url": facts.peers.aic },
    },
  });
  expect(system.output()).not.toContain("your settings replace");
});

test("the core token is not accepted by the connector", async () => {
  const tokens = { core: "", connector: facts.tokens.core };
  expect((await call("GET", "/v2/status", { ...facts, tokens })).status).toBe(403);
});

// Most of these wait for processes: on a busy machine that takes its time.
describe("further starts", () => {
  test.runIf(canPaste).concurrent("the first call of the banner can be pasted into a terminal", async () => {
    const pasted = system.output().match(/^A first call: +(curl .+)$/m)?.[1] ?? "";
    expect(JSON.parse(await bash(pasted))).toMatchObject({ IDP_DEFAULT: "entra" });
  });

  test("a further host joins by --storage, with a run file of its own, and ends alone", async () => {
    const joined = launchStart(["--storage", facts.storage]);
    const own = await joined.ready();
    expect(own).toMatchObject({ tokens: facts.tokens, storage: facts.storage, peers: facts.peers });
    expect(own.host).not.toBe(facts.host);
    expect((await call("GET", "/v2/status", own)).status).toBe(200);
    // As if its parent process had ended.
    joined.child.disconnect();
    expect(await joined.ended).toBe(0);
    expect(existsSync(join(joined.directory, "run.json"))).toBe(false);
    expect((await fetch(`${facts.host}/health`)).status).toBe(200);
  });

  test.concurrent("--storage without a running system is refused", async () => {
    const noSystem = facts.storage.replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:9");
    const lost = launchStart(["--storage", noSystem]);
    expect(await lost.ended).toBe(1);
    expect(lost.output()).toMatch(/There is no running local system on this storage\./);
  });

  test.concurrent("a second start in one directory says where the first system runs, and changes nothing there", async () => {
    const second = launchStart([], { directory: system.directory, cwd: emptyDirectory() });
    expect(await second.ended).toBe(1);
    expect(second.output()).toBe(
      `The local system of ${system.directory} runs already: console ${facts.console}, APIs ${facts.host} (process ${system.child.pid}).\n` +
        "Stop it first, or start another one: PORT=0 LOCAL_DIR=/tmp/second npm start\n",
    );
    expect(JSON.parse(readFileSync(join(system.directory, "run.json"), "utf8")).pid).toBe(system.child.pid);
  });

  test("a taken port is named", async () => {
    const second = launchStart([], { env: { PORT: new URL(facts.host).port } });
    expect(await second.ended).toBe(1);
    expect(second.output()).toBe(
      `Port ${new URL(facts.host).port} cannot be used (it is in use). PORT=0 uses a free port.\n`,
    );
  });

  test("--peers-only refuses port 0, because nothing listens there that could tell its port", async () => {
    const refused = launchStart(["--peers-only"], { env: { PORT: "0" } });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toBe("With --peers-only, PORT must be the port of your host, not 0.\n");
  });

  test("all wrong settings are named, and no process stays", async () => {
    const wrong = { CRON_PROCESS_SHIPMENT_SCHEDULE: "hourly", POLL_AFTER_SECONDS: "soon", CALLER_STATIC_TOKENS: "yes" };
    const refused = launchStart([], { env: wrong });
    expect(await refused.ended).toBe(1);
    for (const name of Object.keys(wrong)) expect(refused.output()).toContain(`  ${name}: must be `);
    expect(existsSync(join(refused.directory, "run.json"))).toBe(false);
    expect(await listens(storageLock(refused.directory))).toBe(false);
  });

  test("--peers-only writes the settings for a host of another program, and they are the same at the next start", async () => {
    const port = await freeBasePort();
    const directory = emptyDirectory();
    const settingsFile = () => readFileSync(join(directory, "local.settings.json"), "utf8");
    const startPeersOnly = async () => {
      const peers = launchStart(["--peers-only"], { directory, env: { PORT: String(port) } });
      return { peers, facts: await peers.ready() };
    };
    const end = async ({ child, ended }: StartProcess) => {
      child.kill("SIGTERM");
      expect(await ended).toBe(0);
    };

    const { peers: first, facts: firstFacts } = await startPeersOnly();
    const settings = settingsFile();
    const file = JSON.parse(settings);
    expect(file).toMatchObject({ IsEncrypted: false, Host: { LocalHttpPort: port } });
    expect(file.Values).toMatchObject({
      FUNCTIONS_WORKER_RUNTIME: "node",
      AzureWebJobsStorage: file.Values.CLOUD_STORAGE_CONNECTION_STRING,
      IDP_CONFIGURATION_PATH: join(directory, "identity-providers.yaml"),
    });
    expect(readAllSettings(file.Values).deployment.SERVICE_APIS).toContain("connector");
    expect(await listens(portOf(file.Values.CLOUD_KEY_VAULT_ENDPOINT))).toBe(true);
    expect(firstFacts).toMatchObject({ host: `http://127.0.0.1:${port}`, console: `http://127.0.0.1:${port + 1}` });
    await end(first);
    expect(existsSync(join(directory, "identity-providers.yaml"))).toBe(false);

    const other = createServer();
    await new Promise<void>(resolve => other.listen(port + 1, "127.0.0.1", resolve));
    const { peers: second, facts: secondFacts } = await startPeersOnly();
    expect(settingsFile()).toBe(settings);
    expect(second.output()).toContain(`${port + 1} (console)`);
    expect(secondFacts.console).not.toBe(firstFacts.console);
    await end(second);
    other.close();
  });

  test.concurrent.each([
    [["--ephmeral"], "Unknown option '--ephmeral' (did you mean --ephemeral?). For help: npm start -- --help\n"],
    [["now"], /^Unexpected argument 'now'\. .*For help: npm start -- --help\n$/],
    [["--log", "xml"], "--log must be json, pretty, quiet. For help: npm start -- --help\n"],
  ])("refuses the arguments %j and says how to get help", async (args, output) => {
    const refused = launchStart(args);
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toEqual(typeof output === "string" ? output : expect.stringMatching(output));
  });

  test.concurrent("--help describes every option and starts nothing", async () => {
    const help = launchStart(["--help"]);
    expect(await help.ended).toBe(0);
    for (const word of ["--ephemeral", "--log", "--peers-only", "--storage", "PORT", "LOCAL_DIR"])
      expect(help.output()).toContain(word);
    expect(readdirSync(help.directory)).toEqual([]);
  });

  test
    .runIf(process.platform === "linux")
    .concurrent("a directory that cannot be created is named at once", async () => {
      const refused = launchStart([], { env: { LOCAL_DIR: "/proc/local-system/data" } });
      expect(await refused.ended).toBe(1);
      expect(refused.output()).toBe(
        "The local system cannot write to /proc/local-system/data: no directory can be created there. Set LOCAL_DIR to another directory.\n",
      );
    });
});

/** Returns a port for the host such that it and those of all parts after it are free. */
async function freeBasePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 500) * 20;
    const { taken } = await choosePorts(port);
    const isFree = await requireFreePort(port).then(
      () => true,
      () => false,
    );
    if (isFree && taken.length === 0) return port;
  }
}

describe("a restart", () => {
  let id: string;
  let again: StartProcess;

  test("SIGTERM ends the system: its ports are closed, and run.json is removed", async () => {
    const created = await call("POST", "/v2/credential-requests", facts, sampleRequest);
    expect(created.status).toBe(201);
    id = created.body.data.credential_request_id;
    system.child.kill("SIGTERM");
    expect(await system.ended).toBe(0);
    expect(existsSync(join(system.directory, "run.json"))).toBe(false);
    for (const address of [facts.host, ...Object.values(facts.peers)])
      expect(await listens(portOf(address))).toBe(false);
    expect(await listens(storageLock(system.directory))).toBe(false);
  });

  test("the next start has the same requests, peers and tokens, and continues with them", async () => {
    again = launchStart([], { directory: system.directory });
    const today = await again.ready();
    expect(today.tokens).toEqual(facts.tokens);
    // Its output is not read any more.
    again.child.stdout?.destroy();
    again.child.stderr?.destroy();
    const read = () => call("GET", `/v2/credential-requests/${id}`, today);
    expect((await read()).body.data.state).toBe("started");
    const mailed = async () => ((await (await fetch(`${today.peers.mail}/_control/mails`)).json()) as unknown[]).length;
    const before = await mailed();
    // It ships by the clock, two seconds after it was ordered.
    while ((await read()).body.data.state !== "complete") {
      await call("GET", "/v2/operations/process-shipments", today);
      await call("POST", "/v2/operations/process-credential-requests", today);
    }
    expect((await read()).body.data.state).toBe("complete");
    expect(await mailed()).toBe(before + 1);
  });

  test("SIGKILL ends the storage too, and the next start works", async () => {
    again.child.kill("SIGKILL");
    expect(await again.ended).toBe("SIGKILL");
    while (await listens(storageLock(again.directory))) await wait(20);
    const third = launchStart([], { directory: system.directory });
    const today = await third.ready();
    expect(today.pid).toBe(third.child.pid);
    expect((await call("GET", `/v2/credential-requests/${id}`, today)).body.data.state).toBe("complete");
    third.child.kill("SIGINT");
    expect(await third.ended).toBe(0);
  });
});

const bash = async (line: string) => execFileSync("bash", ["-c", line], { encoding: "utf8" });
