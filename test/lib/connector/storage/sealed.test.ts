import { decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import type { Credential } from "../../../../lib/connector/model/credential.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { days, minutes } from "../../../../lib/platform/time.ts";
import {
  idpsOf,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";

const peers = await peersOfFile();

/** A connector whose IdP gives a handle that says which one it is, and keeps what it is handed back. */
async function watched(padding = 0) {
  const given: string[] = [];
  const back: unknown[] = [];
  const connector = await testConnector(peers, {
    ports: context => ({
      idps: idpsOf(context, idp => ({
        creationOptions: async (wanted, signal) => {
          const challenge = await idp.creationOptions(wanted, signal);
          const authId = `live-${given.length}`;
          given.push(authId);
          return { ...challenge, idpState: { ...challenge.idpState, authId, step: "x".repeat(padding) } };
        },
        activate: async (handle, ...rest) => {
          back.push(handle.authId);
          await idp.activate(handle, ...rest);
        },
        isRegistered: async (handle, ...rest) => {
          back.push(handle.authId);
          return idp.isRegistered?.(handle, ...rest);
        },
        compensate: async handle => void back.push(handle.authId),
      })),
    }),
  });
  return { connector, given, back };
}

/** Writes the key's row with its credentials changed, as an attacker with access to storage could. */
async function rewrite(
  { context, load }: TestConnector,
  requestId: string,
  change: (credential: Credential, index: number, key: SecurityKey) => Credential,
): Promise<void> {
  const loaded = await load(requestId);
  const keys = loaded.keys.map(key => ({
    ...key,
    credentials: key.credentials.map((credential, index) => change(credential, index, key)),
  }));
  await context.requests.save(loaded, { keys });
}

describe("what an IdP needs to continue with a credential", () => {
  test("is sealed with its key's row as context, and is opened to activate and to read back", async () => {
    const { connector, given, back } = await watched();
    const { requestId } = await connector.order(orderBody([2]));
    const { credentials } = await connector.keyRow(requestId);
    expect(credentials.map(({ idpState: handle }) => decodeProtectedHeader(String(handle)))).toEqual(
      [0, 1].map(index => ({
        alg: "A256GCMKW",
        enc: "A256GCM",
        kid: expect.any(String),
        iv: expect.any(String),
        tag: expect.any(String),
        table: "credentialrequests",
        row: `${requestId}/key:s-01-001`,
        purpose: `idp-state-${index}`,
      })),
    );
    const stored = await storedText(connector.storage);
    expect(given.filter(authId => stored.some(text => text.includes(authId)))).toEqual([]);

    await connector.runShipments();
    peers.entra.fail({ kind: "drop", method: "POST", path: "fido2Methods", phase: "after" });
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(back).toEqual(["live-0", "live-1", "live-0"]);
  });

  test("is passed to compensate, by the create that is aborted and by the job after it", async () => {
    const { connector, given, back } = await watched();
    peers.delivery.fail({
      kind: "refuse",
      method: "POST",
      status: 400,
      path: "shipments$",
      body: { code: "blocked", message: "No." },
    });
    await refusalOf(connector.order(orderBody([2])));
    expect(back.toSorted()).toEqual(["live-0", "live-1"]);

    let compensated = 0;
    const failing = connector.anotherInstance({
      ports: context => ({
        idps: idpsOf(context, idp => ({
          creationOptions: async (wanted, signal) => {
            const challenge = await idp.creationOptions(wanted, signal);
            const second = wanted.userId.startsWith("second");
            if (second) throw new Error("cut off");
            return { ...challenge, idpState: { authId: "kept" } };
          },
          compensate: async () => {
            compensated++;
            throw new Error("away");
          },
        })),
      }),
    });
    const body = orderBody([2]);
    for (const item of body.shipment.shipment_items)
      item.credentials.push({ user_id: `second-${item.credentials[0]?.user_id}` });
    await refusalOf(failing.order(body));
    expect(compensated).toBeGreaterThan(0);
    const stored = await storedText(connector.storage);
    expect(stored.some(text => text.includes("kept"))).toBe(false);
    connector.advance(minutes(5));
    await connector.runCredentials();
    expect(back.slice(2)).toEqual(["kept", "kept"]);
    expect(given).toHaveLength(2);
  });

  test("does not open in another place, and holds back neither the next credential of the key nor the PIN email", async () => {
    const { connector, given, back } = await watched();
    const { requestId } = await connector.orderAndPoll(orderBody([2]));
    await rewrite(connector, requestId, (credential, index, { credentials }) => {
      const idpState = index === 0 ? credentials[1]?.idpState : credential.idpState;
      return { ...credential, ...(idpState !== undefined && { idpState }) };
    });
    await connector.runCredentials();
    expect(back).toEqual([given[1]]);
    expect(connector.events("sealed_value_unreadable")).toMatchObject([
      { purpose: "idp-state-0", error: { name: "SealError" } },
    ]);
    expect(await connector.queue("key")).toHaveLength(1);
    const { credentials, lease, mail } = await connector.keyRow(requestId);
    expect(credentials.map(({ state }) => state)).toEqual(["activation_pending", "active"]);
    expect([mail.state, lease]).toEqual(["sent", undefined]);
  });

  test("ends its credential at retryable_until if it does not open until then, so that the request can be deleted", async () => {
    const { connector, back } = await watched();
    const { requestId } = await connector.orderAndPoll(withoutPins(orderBody([2])));
    await rewrite(connector, requestId, (credential, index, { credentials }) => {
      const handle = credentials[1 - index]?.idpState;
      const tried = index === 0 && { triedAt: connector.now() };
      return { ...credential, ...tried, ...(handle !== undefined && { idpState: handle }) };
    });
    connector.advance(days(14));
    await connector.runCredentials("timer");
    expect(back).toEqual([]);
    const read = await connector.read(requestId);
    expect(read).toMatchObject({ state: "failed" });
    const reason = "The stored state for the identity provider cannot be decrypted.";
    expect(read.shipment?.shipment_items[0]?.credentials.map(credential => credential.error_message)).toEqual([
      `It may have been registered: check at the identity provider. Not activated in time. ${reason}`,
      `Not activated in time. ${reason}`,
    ]);
    expect(await connector.queue("key")).toEqual([]);
  });

  test("may have 16,000 bytes of each of 100 credentials", async () => {
    const { connector } = await watched(15_900);
    const { requestId } = await connector.order(orderBody(Array<number>(5).fill(20)));
    const columns = (await connector.keyRow(requestId)).credentials.map(
      credential => JSON.stringify(credential).length,
    );
    expect(Math.max(...columns)).toBeLessThan(32_768);
  });
});
