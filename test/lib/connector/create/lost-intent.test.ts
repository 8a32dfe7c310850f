import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { claimsTable } from "../../../../lib/connector/create/claims.table.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import type { Challenge } from "../../../../lib/connector/model/webauthn.ts";
import type { Table } from "../../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, minutes } from "../../../../lib/platform/time.ts";
import { attempts, connectorBehindProxy } from "../../../support/connector/behind-proxy.ts";
import { withTable } from "../../../support/connector/crashing.ts";
import {
  idpsOf,
  onChallenge,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { writes } from "../../../support/connector/writes.ts";

const peers = await peersOfFile();
const ordered = () => peers.delivery.count("POST", /shipments$/);

const once = ({ context }: TestConnector, body: unknown) =>
  createRequest(
    createBodyV2.parse(body),
    { caller: { kind: "tenant", application: "app" }, idempotencyKey: "key-1" },
    context,
  );

const nothingOrdered = {
  status: 503,
  headers: { "retry-after": "5" },
  body: { error_message: "Storage is not responding; nothing was ordered." },
};

describe("a create whose order intent is written, but every response to the write is lost", () => {
  test("orders nothing, takes the intent back and frees its Idempotency-Key, so that the repetition orders once", async () => {
    const { connector, proxy } = await connectorBehindProxy(peers);
    const lost = proxy.cut({ phase: "response", ...writes.keysAndIntent, times: attempts });
    const body = orderBody();
    expect(await refusalOf(once(connector, body))).toMatchObject(nothingOrdered);
    expect([lost.count(), ordered()]).toEqual([attempts, 0]);
    const { requestId } = await once(connector, body);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    expect(ordered()).toBe(1);
  });

  test("ends its request without an Idempotency-Key, and removes what the identity provider began", async () => {
    const begun: Challenge["idpState"][] = [];
    const removed: Challenge["idpState"][] = [];
    const { connector, proxy } = await connectorBehindProxy(peers, {
      ports: onChallenge(({ idpState }) => void begun.push(idpState), removed),
    });
    proxy.cut({ phase: "response", ...writes.keysAndIntent, times: attempts });
    expect(await refusalOf(connector.order(orderBody([2])))).toMatchObject(nothingOrdered);
    const [{ requestId } = { requestId: "" }] = await connector.queue("clean");
    const row = await connector.requestRow(requestId);
    expect(row).toMatchObject({ state: "failed", neverSent: true, errorMessage: nothingOrdered.body.error_message });
    expect(row.delivery).toBeUndefined();
    expect(begun).toHaveLength(2);
    expect(removed).toEqual(expect.arrayContaining(begun));
    expect(connector.events("write_in_doubt")).toMatchObject([{ credentialRequestId: requestId }]);
  });

  test("is ended by the job without a look-up if the compensation fails", async () => {
    let isAway = true;
    const { connector, proxy } = await connectorBehindProxy(peers, {
      ports: context => ({
        idps: idpsOf(context, () => ({
          compensate: async () => {
            if (isAway) throw new PeerFailure("identity provider entra", "compensate", "unanswered");
          },
        })),
      }),
    });
    proxy.cut({ phase: "response", ...writes.keysAndIntent, times: attempts });
    const body = orderBody();
    expect(await refusalOf(once(connector, body))).toMatchObject(nothingOrdered);
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    expect((await connector.requestRow(requestId)).delivery).toBeUndefined();
    isAway = false;
    connector.advance(minutes(6));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(peers.delivery.count("GET", /shipments$/)).toBe(0);
    expect((await once(connector, body)).requestId).not.toBe(requestId);
  });
});

/** Tables that answer the write of the order intent with a time-out, and can let it arrive afterwards. */
function lateIntent() {
  let arrive: (() => Promise<unknown>) | undefined;
  const transact =
    (table: Table): Table["transact"] =>
    (partitionKey, actions) => {
      if (arrive !== undefined || !JSON.stringify(actions).includes('\\"sentAt\\"'))
        return table.transact(partitionKey, actions);
      arrive = () => table.transact(partitionKey, actions);
      return Promise.reject(new Fault("unavailable", "Storage is away.", { retryAfterSeconds: 5 }));
    };
  const tables = withTable("credentialrequests", table => ({ transact: transact(table) }));
  return { tables, arrive: () => arrive?.() };
}

test("an order intent that reaches storage after its create has ended has no effect", async () => {
  const late = lateIntent();
  const connector = await testConnector(peers, { tables: late.tables });
  expect(await refusalOf(connector.order())).toMatchObject(nothingOrdered);
  const [{ requestId } = { requestId: "" }] = await connector.queue("clean");
  const before = await connector.load(requestId);
  expect(await late.arrive()).toBeUndefined();
  expect(await connector.load(requestId)).toEqual(before);
});

test("an order intent that arrives between the read and the end of its create is taken back too", async () => {
  const late = lateIntent();
  const connector = await testConnector(peers, {
    tables: late.tables,
    ports: context => ({
      idps: idpsOf(context, () => ({ compensate: async () => void (await late.arrive()) })),
    }),
  });
  expect(await refusalOf(connector.order())).toMatchObject(nothingOrdered);
  const [{ requestId } = { requestId: "" }] = await connector.queue("clean");
  expect(await connector.requestRow(requestId)).toMatchObject({ state: "failed", neverSent: true });
});

test.each(["insert", "replace"])(
  "an Idempotency-Key whose %s is written without a response is the caller's own",
  async write => {
    const { connector, proxy } = await connectorBehindProxy(peers);
    const body = orderBody();
    if (write === "replace") {
      await once(connector, body);
      connector.advance(days(8));
    }
    const lost = proxy.cut({ phase: "response", path: /\$batch$/, body: new RegExp(claimsTable), times: attempts });
    const { requestId } = await once(connector, body);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    expect(lost.count()).toBe(attempts);
  },
);
