import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connectApi } from "../../commands/api.ts";
import { csvRows } from "../../commands/import/csv-rows.ts";
import { columnNames } from "../../commands/requests/order-columns.ts";
import { orderFile } from "../../commands/requests/order-file.ts";
import type { paths } from "../../docs/openapi/connector.ts";
import type { HttpCall } from "../../local/peers/peer.ts";
import { startAuthHost } from "../support/auth/host.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";
import { startCoreProxy } from "./core-proxy.ts";
import { startImport } from "./import/run-import.ts";

const auth = await startAuthHost();
const proxy = await startCoreProxy(auth.connectorUrl);
const folder = mkdtempSync(join(tmpdir(), "orders-"));
atEndOfFile(async () => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const header =
  "id,email,first_name,last_name,telephone,street_line1,city,region,postal_code,country_code,product_id,inventory_product_id,pin_length,keys,credentials";
const ending = ",Ada,Lovelace,+15550100,12 Analytical Way,Dedham,MA,02026,US,1,15,6,1,";
const rowOf = (id: string, user: string, email = user) => `${id},${email}${ending}${user}`;
let people = 0;
const newUser = () => `person-${++people}@example.com`;

function fileOf(...rows: readonly string[]): string {
  const path = join(folder, `orders-${++files}.csv`);
  writeFileSync(path, [header, ...rows].join("\r\n"));
  return path;
}
const reportOf = (file: string) => {
  const path = file.replace(".csv", ".report.csv");
  return csvRows(path, readFileSync(path, "utf8")).map(({ values }) => values);
};

/** Runs the command's work in this process. */
async function run(
  file: string,
  { url = auth.connectorUrl, dryRun = false, token = auth.otherToken, parallel = 2 } = {},
) {
  const written = { out: "", error: "" };
  const stream = (name: "out" | "error") => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const api = connectApi<paths>(url, token);
  const now = () => performance.now();
  const code = await orderFile({
    file,
    dryRun,
    url,
    api,
    parallel,
    stdout: stream("out"),
    stderr: stream("error"),
    now,
  });
  return { code, ...written };
}
const through = (file: string) => run(file, { url: proxy.url });
const isCreate = ({ method, url }: HttpCall) => method === "POST" && url.search === "";
const shipments = async () => (await auth.peers.delivery.shipments()).length;

describe("orders from a file", () => {
  test("are placed, with their ids by line, and a second run orders nothing", async () => {
    const file = join(folder, "sample.csv");
    // This system has one identity provider.
    writeFileSync(file, readFileSync("docs/examples/orders.csv", "utf8").replace(/;pingone=[^,]+/, ""));
    const before = await shipments();
    const first = await run(file);
    expect(first.code, first.out).toBe(0);
    // What the identity providers warn of is told once, not for each line.
    expect(first.out).toMatch(
      /:2 and 2 more: warning: credentials \(1\) user_id is in a tenant that takes only models .*\n3 orders: 3 ordered\n$/,
    );
    expect((await shipments()) - before).toBe(3);
    const rows = reportOf(file);
    expect(rows.map(({ id, line, outcome }) => [id, line, outcome])).toEqual([
      ["TICKET-101", "2", "ordered"],
      ["TICKET-102", "3", "ordered"],
      ["TICKET-103", "4", "ordered"],
    ]);
    const read = await fetch(`${auth.connectorUrl}/v2/credential-requests/${rows[1]?.credential_request_id}`, {
      headers: { authorization: `Bearer ${auth.otherToken}` },
    });
    const { data } = (await read.json()) as { data: { shipment: { shipment_id: string; shipment_items: unknown[] } } };
    expect(data.shipment.shipment_items).toHaveLength(2);
    expect(data.shipment.shipment_id).toBe(rows[1]?.shipment_id);

    expect(await run(file)).toMatchObject({ code: 0, out: "3 orders: 3 already ordered\n" });
    rmSync(file.replace(".csv", ".report.csv"));
    expect(await run(file)).toMatchObject({ code: 0, out: expect.stringMatching(/^3 orders: 3 already ordered$/m) });
    expect(reportOf(file).map(row => row.credential_request_id)).toEqual(rows.map(row => row.credential_request_id));
    expect((await shipments()) - before).toBe(3);
  });

  test("have the columns that docs/integrate.md lists", () => {
    const [, section = ""] =
      /\n\| Column \| Content \|\n(.*?)\n\n/s.exec(readFileSync("docs/integrate.md", "utf8")) ?? [];
    const rows = section.split("\n").filter(row => row.startsWith("| `"));
    const listed = rows.flatMap(row => (row.split("|")[1] ?? "").match(/(?<=`)[a-z_0-9]+(?=`)/g) ?? []);
    expect(listed.toSorted()).toEqual(columnNames.toSorted());
  });

  test("are all checked before the first one is placed, and every problem is told by its line and column", async () => {
    const [one, two] = [newUser(), newUser()];
    const file = fileOf(
      rowOf("A-1", one),
      rowOf("A-2", "unknown", one),
      `A-3,no address,,,twelve,,Dedham,,02026,US,1,fifteen,2,1,nowhere=${one};${one}`,
      rowOf("A-1", two),
      rowOf("A-4", two).replace(",6,1,", ",6,many,"),
      rowOf("", two),
      rowOf("", two),
      rowOf("A-5", `nowhere=${two}`, two),
    );
    const before = await shipments();
    const { code, out, error } = await run(file);
    const lines = out.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        `${file}:5: refused: ${file}:2 has the same id`,
        `${file}:6: refused: keys must be a number from 1 to 50`,
        `${file}:8: refused: ${file}:7 is the same, and has no id`,
        "8 orders: 6 refused, 2 not ordered",
      ]),
    );
    expect(out).toMatch(/:3: refused: credentials \(1\) user_id does not exist in the tenant/);
    for (const problem of [/email must be/, /telephone /, /street_line1 /, /inventory_product_id /, /pin_length /])
      expect(out).toMatch(new RegExp(`:4: refused: .*${problem.source}`));
    expect(out).toMatch(/:9: refused: credentials \(1\) idp_id /);
    expect(error).toContain("Nothing was ordered: correct the file, and run the command again.\n");
    expect([code, await shipments()]).toEqual([1, before]);
    const dry = await run(fileOf(rowOf("A-1", one)), { dryRun: true });
    expect(dry).toMatchObject({ code: 0, out: expect.stringMatching(/^1 order: 1 not ordered$/m) });
    expect(dry.error).not.toContain("report");
    expect(await shipments()).toBe(before);
  });

  test("are not ordered twice if an answer is lost, or an earlier call still runs, or the API asks to wait", async () => {
    const file = fileOf(...Array.from({ length: 10 }, (_, index) => rowOf(`B-${index}`, newUser())));
    const before = await shipments();
    let creates = 0;
    proxy.instead(call => {
      if (!isCreate(call)) return undefined;
      creates++;
      // The connector orders, and its answer is lost.
      if (creates === 5) proxy.fail({ kind: "drop", method: "POST", phase: "after" });
      if (creates === 1) return { status: 429, headers: { "retry-after": "1" }, body: { error_message: "Too many." } };
      if (creates === 2) return { status: 409, headers: { "retry-after": "1" }, body: { error_message: "Running." } };
      return undefined;
    });
    const { code, out, error } = await through(file);
    expect([code, error]).toEqual([0, expect.stringContaining(`${proxy.url} requests a wait of 1 s.`)]);
    expect(out).toMatch(/^10 orders: 9 ordered, 1 already ordered$/m);
    proxy.instead(() => undefined);
    expect((await shipments()) - before).toBe(10);
    expect(new Set(reportOf(file).map(row => row.credential_request_id)).size).toBe(10);
  });

  test("keep what was ordered although the file changes, and refuse another order of the same id", async () => {
    const [one, two] = [newUser(), newUser()];
    const file = fileOf(rowOf("C-1", one), rowOf("C-2", two));
    expect((await run(file)).code).toBe(0);
    const [first, second] = reportOf(file);
    writeFileSync(file, [header, rowOf("C-2", two).replace("Dedham", "Boston")].join("\n"));
    const changed = await run(file);
    expect(changed.code).toBe(1);
    expect(changed.out).toContain(
      `${file}:2: refused: its id was ordered with other cells as ${second?.credential_request_id}: cancel that one, or give`,
    );
    expect(
      reportOf(file)
        .filter(row => row.outcome === "present")
        .map(row => row.credential_request_id),
    ).toEqual([first?.credential_request_id, second?.credential_request_id]);
    writeFileSync(file, [header, rowOf("C-2", two)].join("\n"));
    expect(await run(file)).toMatchObject({ code: 0, out: "1 order: 1 already ordered\n" });
  });

  test("name the request of an order whose outcome is unknown", async () => {
    const file = fileOf(rowOf("D-1", newUser()));
    auth.peers.delivery.fail({ kind: "drop", method: "POST", path: "/shipments", times: 1 });
    const unknown = await run(file);
    expect(unknown).toMatchObject({ code: 1, out: expect.stringMatching(/failed: It is not known whether/) });
    const report = reportOf(file);
    expect(report).toMatchObject([{ outcome: "failed", credential_request_id: expect.stringMatching(/^[\w-]{36}$/) }]);
    // A repeat is told to come back for the outcome, and keeps the request.
    expect(await run(file)).toMatchObject({ code: 1, out: unknown.out.replace("(500)", "(409)") });
    expect(reportOf(file)).toMatchObject([
      { outcome: "failed", credential_request_id: report[0]?.credential_request_id },
    ]);
  });

  test.each([
    [
      "an unknown column",
      [`${header},pin_lenght`, `${rowOf("E-1", "ada")},6`],
      "has an unknown column pin_lenght: is it pin_length?",
    ],
    ["missing columns", ["id,email", "E-1,ada@example.com"], "has no column telephone, street_line1,"],
    ["no order", [header], "contains no order."],
  ])("are not tried of a file with %s", async (_, rows, problem) => {
    const file = join(folder, `wrong-${++files}.csv`);
    writeFileSync(file, rows.join("\n"));
    expect(await run(file)).toMatchObject({ code: 2, out: "", error: expect.stringContaining(`${file} ${problem}`) });
  });

  test("stop at a token that is refused, and where no connector is", async () => {
    const file = fileOf(rowOf("F-1", newUser()));
    expect(await run(file, { token: "wrong" })).toMatchObject({
      code: 3,
      error: expect.stringContaining("Stopped: the token is refused (401)"),
    });
    proxy.instead(() => ({ status: 200, headers: { "content-type": "text/html" }, body: "Welcome" }));
    expect(await through(file)).toMatchObject({
      code: 3,
      error: expect.stringContaining("Stopped: the service at this address is not a connector."),
    });
    proxy.instead(() => undefined);
  });

  test("end in order at Ctrl-C, and continue at the next run", async () => {
    const file = fileOf(...Array.from({ length: 4 }, (_, index) => rowOf(`G-${index}`, newUser())));
    const before = await shipments();
    let creates = 0;
    let interrupt = () => {};
    proxy.instead(call => {
      if (isCreate(call) && ++creates === 2) interrupt();
      return undefined;
    });
    const args = ["order", file, "--url", proxy.url, "--parallel", "1"];
    const { child, ended } = startImport(args, {
      command: "commands/requests.ts",
      env: { API_TOKEN: auth.otherToken },
    });
    interrupt = () => void child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130, out: expect.stringMatching(/^4 orders: \d ordered, \d open$/m) });
    const placed = reportOf(file).filter(row => row.outcome === "ordered").length;
    expect(placed).toBeLessThan(4);
    expect(await through(file)).toMatchObject({ code: 0 });
    expect((await shipments()) - before).toBe(4);
  });
});
