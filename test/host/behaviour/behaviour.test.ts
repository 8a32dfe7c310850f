import { beforeAll, describe, expect, test } from "vitest";
import { azureHostKeys } from "../../../local/azure-host/start-azure-host.ts";
import { type LocalHost, startHost } from "../../../local/host/host.ts";
import { azureHostOfFile, describeOnAzureHost } from "../../support/host/azure-host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";
import { atEndOfFile } from "../../support/run/end-of-file.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";
import { until } from "../../support/until.ts";
import { registerAll } from "./app.ts";
import { answerOf, type WholeAnswer } from "./exchange.ts";
import { packagedTable } from "./packaged-table.ts";
import { rows, tableSettings } from "./rows.ts";

type Host = Pick<LocalHost, "url" | "port">;

const core = functionsCoreOfFile();
const local = new Map<string, WholeAnswer>();
let localHost: LocalHost;

beforeAll(async () => {
  registerAll();
  localHost = await startHost(core, {
    port: 0,
    env: tableSettings,
    masterKey: azureHostKeys.master,
  });
  atEndOfFile(() => localHost.stop());
  for (const { name, sent } of rows) local.set(name, await answerOf(localHost, sent));
});

/** Starts the HTTP function `seen` and then a timer. Returns what has run when the timer has. */
async function ranAfterStart(host: Host): Promise<readonly string[]> {
  const headers = { "x-functions-key": azureHostKeys.master, "content-type": "application/json" };
  const start = async (name: string, body: string) =>
    (await fetch(`${host.url}/admin/functions/${name}`, { method: "POST", headers, body })).status;
  const ran: string[] = [];
  expect([await start("seen", '{"input":"text"}'), await start("tICK", "{}")]).toEqual([202, 202]);
  const isDone = async () => {
    ran.push(...((await (await fetch(`${host.url}/ran`)).json()) as readonly string[]));
    return ran.includes("Tick");
  };
  await until(isDone, () => "The timer did not run.");
  return ran;
}

describe("the local host answers as Azure's host does: a request with", () => {
  test.each(rows)("$name", ({ name, answer, local: other }) => {
    const { because: _, ...stated } = other ?? { ...answer, because: "" };
    expect(local.get(name)).toMatchObject(stated);
  });

  test("the start of an HTTP function is accepted, and runs nothing", async () => {
    expect(await ranAfterStart(localHost)).toEqual(["Tick"]);
  });
});

describeOnAzureHost("Azure's host answers: a request with", () => {
  const azure = new Map<string, WholeAnswer>();
  let azureHost: Host;

  beforeAll(async () => {
    azureHost = await azureHostOfFile({
      app: await packagedTable(),
      settings: { ...tableSettings, AzureWebJobsStorage: freshStorage().connectionString },
    });
    for (const { name, sent } of rows) azure.set(name, await answerOf(azureHost, sent));
  });

  test.each(rows.filter(row => row.local === undefined))("$name as the local host does, in every header", row => {
    expect(local.get(row.name)).toEqual(azure.get(row.name));
  });

  test.each(rows.filter(row => row.local !== undefined))(
    "$name, which is still a difference of the local host",
    row => {
      expect(azure.get(row.name)).toMatchObject(row.answer);
      expect(local.get(row.name)).not.toEqual(azure.get(row.name));
    },
  );

  test("the start of an HTTP function is accepted, and runs nothing", async () => {
    expect(await ranAfterStart(azureHost)).toEqual(["Tick"]);
  });
});
