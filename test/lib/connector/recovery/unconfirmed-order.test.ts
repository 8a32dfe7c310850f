import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { failedRequest } from "../../../../lib/connector/recovery/fail-request.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { unanswered } from "../../../support/connector/in-a-state.ts";
import { authenticator, idAt, mixedBody } from "../../../support/connector/on-site.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();

/** A request with a shipped key and an authenticator, whose order did not arrive, and whose tentative shipment proved to be of another system. */
async function withRejectedShipment(connector: TestConnector): Promise<string> {
  const body = altered(mixedBody([1], [authenticator(1)]), { "shipment.customer_reference": randomUUID() });
  const { authenticators: _, ...shipped } = body;
  await (await testConnector(peers)).order(shipped);
  const requestId = await unanswered(connector, peers, { body });
  connector.advance(minutes(16));
  await connector.runCredentials("timer");
  expect((await connector.requestRow(requestId)).delivery?.shipment?.tentative).toBe(true);
  await connector.runShipments("timer");
  expect((await connector.read(requestId)).state).toBe("received");
  return requestId;
}

async function runFor(connector: TestConnector, time: number): Promise<void> {
  for (let passed = 0; passed < time; passed += hours(5)) {
    connector.advance(hours(5));
    await connector.runCredentials("timer");
  }
}

const mailsOf = async (connector: TestConnector, requestId: string) => {
  const { recipient } = await connector.requestRow(requestId);
  return peers.mail.mails().filter(({ to }) => to.includes(recipient.email));
};

test("of an authenticator with a response for one credential the other credential continues too", async () => {
  const connector = await testConnector(peers);
  const { requestId } = await connector.order(mixedBody([1], [authenticator(2)]));
  const loaded = await connector.context.requests.load(requestId);
  if (loaded === undefined) throw new Error("there is no request");
  const keys = loaded.keys.map(stored => {
    const { provisioning, credentials } = stored;
    const [first, ...others] = credentials;
    if (provisioning !== "on_site" || first === undefined) return stored;
    return { ...stored, credentials: [{ ...first, state: "activation_pending" }, ...others] } as const;
  });
  const request = { ...loaded.request, state: "received" as const };
  const saved = failedRequest({ ...loaded, request, keys }, "never", connector.context);
  expect(saved.request.state).toBe("started");
  expect(saved.keys.map(({ provisioning, state }) => [provisioning, state])).toEqual([["shipped", "failed"]]);
});

describe("a request whose order is never confirmed, with an authenticator that was enrolled meanwhile", () => {
  test("ends without its shipped key, and still mails the PIN that the mail service did not take", async () => {
    const connector = await testConnector(peers);
    const requestId = await withRejectedShipment(connector);
    await peers.rfpr.enroll(idAt(requestId));
    peers.mail.fail({ kind: "refuse", status: 500, times: 10_000 });
    await runFor(connector, days(4));
    expect(await connector.read(requestId)).toMatchObject({
      state: "partial",
      authenticators: [{ state: "complete" }],
      shipment: { shipment_items: [{ state: "failed" }] },
      error_message: expect.stringContaining("never confirmed the shipment"),
    });
    expect(await mailsOf(connector, requestId)).toEqual([]);
    peers.mail.clearFaults();
    await runFor(connector, days(1));
    expect(await mailsOf(connector, requestId)).toHaveLength(1);
    expect((await connector.queue("purge")).map(({ keyId }) => keyId)).toEqual(["a-01"]);
  });

  test("stays started until an activation without an answer is read back, and then ends with it", async () => {
    const connector = await testConnector(peers);
    const requestId = await withRejectedShipment(connector);
    await runFor(connector, hours(70));
    expect((await connector.read(requestId)).state).toBe("received");
    await peers.rfpr.enroll(idAt(requestId));
    const registered = peers.entra.registrations().length;
    peers.entra.fail({ kind: "refuse", status: 500, phase: "after", method: "POST", path: "fido2Methods$" });
    peers.entra.fail({ kind: "refuse", status: 503, method: "GET", path: "fido2Methods$", times: 6 });
    await runFor(connector, hours(10));
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      authenticators: [{ credentials: [{ state: "activation_pending" }] }],
      shipment: { shipment_items: [{ state: "failed" }] },
    });
    const taken = peers.rfpr.authenticatorRequests().map(({ id }) => id);
    expect(taken, "it is not compensated").toContain(idAt(requestId));
    await runFor(connector, days(2));
    expect(await connector.read(requestId)).toMatchObject({
      state: "partial",
      authenticators: [{ state: "complete" }],
    });
    expect(peers.entra.registrations()).toHaveLength(registered + 1);
    expect(await mailsOf(connector, requestId)).toHaveLength(1);
  });
});
