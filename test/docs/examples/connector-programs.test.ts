import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Peer, startPeer } from "../../../local/peers/peer.ts";
import { localTokens } from "../../../local/start/tokens.ts";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { newUser, peersOfFile } from "../../support/connector/test-connector.ts";
import { type Program, startProgram } from "./auth-program.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers);

/** Between programs and connector: passes everything on, and can drop a response. */
let line: Peer;
beforeAll(async () => {
  line = await startPeer("line", {
    handle: async ({ method, path, body, headers }) => {
      const { authorization = "", "content-type": type = "", "idempotency-key": key } = headers;
      const answer = await fetch(host.url + path, {
        method,
        headers: {
          authorization,
          ...(type && { "content-type": type }),
          ...(key && { "idempotency-key": String(key) }),
        },
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      const kept = ["retry-after", "x-ignored-fields"].flatMap(name => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      return { status: answer.status, headers: Object.fromEntries(kept), body: await answer.text() };
    },
  });
});
beforeEach(() => {
  line.clearFaults();
  line.resetRequests();
});
afterAll(() => line?.close());

const run = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program =>
  startProgram(
    name,
    { CONNECTOR_URL: line.url, API_TOKEN: localTokens(peers.vault).connector, POLL_SECONDS: "0.1", ...env },
    args,
  );

const orders = () => peers.delivery.count("POST", /shipments$/);
const mailsTo = (to: string) => peers.mail.mails().filter(mail => mail.to.includes(to));
const jobs = async () => {
  await host.call("GET /v2/operations/process-shipments");
  await host.call("POST /v2/operations/process-credential-requests");
};
const sample = (name: string): Body => JSON.parse(readFileSync(`docs/examples/${name}`, "utf8"));
let files = 0;
async function fileOf(body: unknown): Promise<string> {
  const path = join(tmpdir(), `connector-order-${process.pid}-${files++}.json`);
  await writeFile(path, JSON.stringify(body));
  return path;
}
const uuid = "[0-9a-f-]{36}";

describe("a client of version 2", () => {
  const v2 = (args: readonly string[], env = {}) => run("connector-v2.mjs", args, env);
  const ordered = new RegExp(`^(?<ticket>\\S+): ordered as (?<id>${uuid}), shipment (?<shipment>\\S+)\\n$`);

  it("orders for a ticket once, follows the request to its end, and has the PIN mailed once more", async () => {
    const order = () => v2(["order", "REQ1", "docs/examples/connector-order-v2.json"]).ended;
    const first = await order();
    expect(first).toMatchObject({ code: 0, error: "", out: expect.stringMatching(ordered) });
    const { id = "", shipment = "" } = ordered.exec(first.out)?.groups ?? {};
    expect(await order()).toEqual(first);
    expect(orders()).toBe(1);

    const following = v2(["follow", id], { WAIT_SECONDS: "60" });
    expect(await following.started).toBe(`${id} started`);
    await jobs();
    expect(await following.ended).toMatchObject({ code: 0, error: "" });
    const { out } = await v2(["follow", id]).ended;
    expect(out.split("\n")).toEqual([
      `${id} complete`,
      `  shipment ${shipment}`,
      "  s-01-001 Ada Key complete",
      "    ada.lovelace@example.com at entra active",
      "    ada.admin@example.com at entra active",
      "",
    ]);
    const mails = mailsTo("ada.manager@example.com").length;
    expect(await v2(["resend-pin", id]).ended).toEqual({ code: 0, out: "1 mails\n", error: "" });
    expect(mailsTo("ada.manager@example.com")).toHaveLength(mails + 1);
  });

  it("makes a call again whose answer got lost, and orders once by that", async () => {
    line.fail({ kind: "drop", phase: "after", method: "POST" });
    const body = sample("connector-order-v2.json");
    body.recipient.email = newUser();
    expect(await v2(["order", "REQ2", await fileOf(body)]).ended).toMatchObject({ code: 0 });
    expect([line.count("POST", /credential-requests$/), orders()]).toEqual([2, 1]);
  });

  it("prints what is wrong with an order, and which fields the connector ignores", async () => {
    const wrong = sample("connector-order-v2.json");
    wrong.recipient.telephone = "none";
    delete wrong.shipment.mailing_address.region;
    const { code, error } = await v2(["order", "REQ3", await fileOf(wrong)]).ended;
    expect(code).toBe(1);
    expect(error).toMatch(
      /^REQ3: 400 .*\n {2}recipient\.telephone must .*\n {2}shipment\.mailing_address\.region is required/,
    );

    const mistyped = sample("connector-order-v2.json");
    mistyped.shipment.shipment_items[0].pin_requst = { length: 8 };
    expect(await v2(["order", "REQ4", await fileOf(mistyped)]).ended).toMatchObject({
      code: 0,
      error: "REQ4: the connector knows no shipment.shipment_items[0].pin_requst\n",
    });
    expect(await v2(["order", "REQ4", "docs/examples/connector-order-v1.json"]).ended).toMatchObject({ code: 1 });
  });

  it("comes back later if it is unknown whether the shipment was ordered, and while the connector is away", async () => {
    peers.delivery.fail({ kind: "drop", method: "POST" });
    const body = sample("connector-order-v2.json");
    body.recipient.email = newUser();
    const file = await fileOf(body);
    const unconfirmed = await v2(["order", "REQ5", file]).ended;
    expect(unconfirmed).toMatchObject({ code: 2, out: expect.stringMatching(`^REQ5: not confirmed, see ${uuid}\n$`) });
    expect(await v2(["order", "REQ5", file]).ended).toMatchObject({ code: 2, out: unconfirmed.out });
    expect(orders()).toBe(1);
    const away = await v2(["resend-pin", "any"], { CONNECTOR_URL: "http://127.0.0.1:1" }).ended;
    expect(away).toMatchObject({ code: 2, out: "" });
  });

  it("distinguishes a failed request from one that continues", async () => {
    peers.delivery.settings({ shipAfterMs: 3_600_000 });
    const body = sample("connector-order-v2.json");
    body.recipient.email = newUser();
    const { out } = await v2(["order", "REQ6", await fileOf(body)]).ended;
    const { id = "" } = ordered.exec(out)?.groups ?? {};
    expect(await v2(["follow", id]).ended).toMatchObject({ code: 2 });
    expect(await v2(["follow", id, "started"]).ended).toMatchObject({ code: 0 });
    expect(await v2(["resend-pin", id]).ended).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^409 There is no PIN to send/),
    });
    await host.call(`POST /v2/credential-requests/${id}/cancel`);
    expect(await v2(["follow", id]).ended).toMatchObject({ code: 3, out: expect.stringContaining("was cancelled") });
    expect(await v2(["follow", "unknown"]).ended).toMatchObject({ code: 1 });
  });
});

describe.each(["connector-v1.mjs", "connector-v2.mjs"])("a wrong call of %s", program => {
  it.each([
    ["without a command", [], {}, /^order <ticket> <file> \|/],
    ["with an unknown command", ["cancel", "any"], {}, /^order <ticket> <file> \|/],
    ["without an argument that the command needs", ["order", "REQ21"], {}, /^order <ticket> <file> \|/],
    ["with a file that is missing", ["order", "REQ21", "missing.json"], {}, /^missing\.json cannot be read: .*ENOENT/],
    ["with a file that is no JSON", ["order", "REQ21", "docs/package.md"], {}, /^docs\/package\.md cannot be read: /],
    ["without a token", ["follow", "any"], { API_TOKEN: "" }, /^Set CONNECTOR_URL .* and API_TOKEN\.$/m],
    ["without an address", ["follow", "any"], { CONNECTOR_URL: "" }, /^Set CONNECTOR_URL .* and API_TOKEN\.$/m],
    ["with an address without https", ["follow", "any"], { CONNECTOR_URL: "keys.example.com" }, /^Set CONNECTOR_URL /],
  ])("%s ends with the code of a refusal, because no repetition can succeed", async (_, args, env, error) => {
    expect(await run(program, args, env).ended).toMatchObject({
      code: 1,
      out: "",
      error: expect.stringMatching(error),
    });
    expect(line.requests()).toEqual([]);
  });
});

describe("a client of version 1", () => {
  const v1 = (args: readonly string[], env = {}) => run("connector-v1.mjs", args, env);
  const ordered = /^REQ\d+: shipment (?<shipment>\S+)\n$/;

  it("orders for a ticket once, follows the shipment until its PIN is mailed, and has it mailed once more", async () => {
    const order = () => v1(["order", "REQ11", "docs/examples/connector-order-v1.json"]).ended;
    const first = await order();
    expect(first).toMatchObject({ code: 0, error: "", out: expect.stringMatching(ordered) });
    const { shipment = "" } = ordered.exec(first.out)?.groups ?? {};
    expect(await order()).toEqual(first);
    expect(orders()).toBe(1);

    const following = v1(["follow", shipment], { WAIT_SECONDS: "60" });
    expect(await following.started).toBe(`${shipment} ongoing`);
    peers.mail.fail({ kind: "refuse", status: 400, method: "POST" });
    await host.call("GET /v1/operations/process-shipments");
    expect(await v1(["follow", shipment]).ended).toMatchObject({
      code: 2,
      out: expect.stringMatching(`^${shipment} pending_pin_sending: The PIN email was not accepted`),
    });
    expect(await v1(["resend-pin", shipment]).ended).toEqual({ code: 0, out: "sent\n", error: "" });
    expect(await following.ended).toMatchObject({ code: 0, error: "", out: expect.stringMatching(/ complete\n$/) });
    expect(mailsTo("grace.manager@example.com")).toHaveLength(1);
  });

  it("prints an error of the shipment, and what is wrong with an order", async () => {
    peers.delivery.settings({ shipAfterMs: 3_600_000 });
    const body = sample("connector-order-v1.json");
    body.delivery_shipment_request.recipient.recipient_email = newUser();
    const { out } = await v1(["order", "REQ12", await fileOf(body)]).ended;
    const { shipment = "" } = ordered.exec(out)?.groups ?? {};
    await peers.delivery.control(shipment, { state: 9 });
    await jobs();
    expect(await v1(["follow", shipment]).ended).toMatchObject({
      code: 2,
      out: expect.stringMatching(`^${shipment} ongoing: The delivery service reports`),
    });
    expect(await v1(["resend-pin", shipment]).ended).toMatchObject({ code: 1 });
    body.pin_request.length = 3;
    expect(await v1(["order", "REQ13", await fileOf(body)]).ended).toMatchObject({
      code: 1,
      error: expect.stringContaining("pin_request.length must be at least 4"),
    });
    expect(await v1(["follow", "unknown"]).ended).toMatchObject({ code: 1 });
  });
});
