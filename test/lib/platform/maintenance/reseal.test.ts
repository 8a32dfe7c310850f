import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { orderBody, peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";
import { runTask } from "../../../support/run-task.ts";

const peers = await peersOfFile();

test.each(["..", "../../secrets", "0".repeat(32)])(
  "a rotation is not stopped by an order whose external id looks like a value sealed under version %j",
  async kid => {
    const connector = await testConnector(peers);
    const header = {
      alg: "A256GCMKW",
      enc: "A256GCM",
      kid,
      table: "credentialrequests",
      row: "x/request",
      purpose: "x",
    };
    const typed = `${Buffer.from(JSON.stringify(header)).toString("base64url")}.a.b.c.d`;
    const body = orderBody([1]);
    const { requestId } = await connector.order({ ...body, recipient: { ...body.recipient, external_id: typed } });
    const old = peers.vault.get("data-encryption-key") ?? "";
    try {
      peers.vault.set("data-encryption-key", randomBytes(32).toString("base64url"));
      const { context, deployment } = connector;
      const report = await runTask(connectorTasks, "reseal", {}, { ...context, deployment });
      expect(report).toMatchObject({ resealed: 1, failed: 0 });
    } finally {
      peers.vault.set("data-encryption-key", old);
    }
    expect((await connector.load(requestId)).request.recipient.externalId).toBe(typed);
  },
);
