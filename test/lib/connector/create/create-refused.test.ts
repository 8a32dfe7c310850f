import { describe, expect, test } from "vitest";
import type { Challenge } from "../../../../lib/connector/model/webauthn.ts";
import { minutes } from "../../../../lib/platform/time.ts";
import { idOfUser } from "../../../../local/peers/uuid-of.ts";
import {
  idpsOf,
  newUser,
  onChallenge,
  orderBody,
  peersOfFile,
  recordCompensated,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const ordered = () => peers.delivery.count("POST", /shipments$/);

/** The one request in storage, which has ended. */
async function endedRequest(connector: TestConnector) {
  expect(await connector.queue("reconcile")).toEqual([]);
  expect(await connector.queue("poll")).toEqual([]);
  const [entry, ...others] = await connector.queue("clean");
  expect(others).toEqual([]);
  return connector.read(entry?.requestId ?? "");
}

/** Expects that a request ended `failed` with all its keys and credentials. */
function expectFailed(read: Awaited<ReturnType<typeof endedRequest>>, reason: unknown) {
  expect(read).toMatchObject({ state: "failed", error_message: reason });
  const items = read.shipment?.shipment_items ?? [];
  expect(items.map(({ state }) => state)).toEqual(items.map(() => "failed"));
  for (const credential of items.flatMap(({ credentials }) => credentials))
    expect(credential).toMatchObject({ state: "failed", error_message: reason });
}

// jobs/failures/create.test.ts has the failures of each call and the users whom an IdP refuses.
describe("a create that an identity provider answers no", () => {
  test("names the user as the caller wrote it: 400 idp_error, and no more", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    peers.entra.setUser(user, "unknown");
    const body = altered(orderBody([2, 1]), { "shipment.shipment_items[1].credentials[0].user_id": user });
    const message = /would refuse the credential: shipment.shipment_items\[1\].credentials\[0\].user_id does not exist/;
    expect(await refusalOf(connector.order(body))).toEqual({
      status: 400,
      headers: {},
      body: { error_code: "idp_error", error_message: expect.stringMatching(message) },
    });
    expectFailed(await endedRequest(connector), expect.stringMatching(message));
    expect(ordered()).toBe(0);
  });

  test("that takes longer in all than a create has is asked no more: 503, and nothing is ordered", async () => {
    let asked = 0;
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: onChallenge((_, clock) => {
        asked++;
        clock.advance(minutes(1));
      }),
    });
    const { status, body } = await refusalOf(connector.order(orderBody([4, 2])));
    expect({ status, asked }).toEqual({ status: 503, asked: 3 });
    expect(body).toMatchObject({ error_message: "The request took too long; nothing was ordered." });
    expectFailed(await endedRequest(connector), expect.any(String));
    expect(ordered()).toBe(0);
  });

  test("asks no more of it, and compensates what was started", async () => {
    const asked: string[] = [];
    const compensated: unknown[] = [];
    const users = Array.from({ length: 20 }, newUser);
    peers.entra.setUser(users[9] ?? "", "unknown");
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: context => ({
        idps: idpsOf(context, idp => ({
          creationOptions: (wanted, signal) => {
            asked.push(wanted.userId);
            return idp.creationOptions(wanted, signal);
          },
          compensate: async handle => void compensated.push(handle.userId),
        })),
      }),
    });
    const body = orderBody([20]);
    const credentials = users.map(user_id => ({ user_id }));
    await refusalOf(connector.order(altered(body, { "shipment.shipment_items[0].credentials": credentials })));
    expect(asked).toEqual(users.slice(0, 10));
    expect(compensated).toEqual(users.slice(0, 9).map(idOfUser));
  });
});

describe("a create that the delivery service answers no", () => {
  test("is answered 400 delivery_error with its code and message, and compensated at the identity providers", async () => {
    const compensated: Challenge["idpState"][] = [];
    const connector = await testConnector(peers, { ports: recordCompensated(compensated) });
    const words = { code: "validation_error", message: "recipient_lastname: must be at most 20 characters" };
    peers.delivery.fail({ kind: "refuse", method: "POST", status: 400, body: words });
    const body = orderBody([2, 1]);
    expect(await refusalOf(connector.order(body))).toEqual({
      status: 400,
      headers: {},
      body: { error_code: "delivery_error", error_message: words.message, error_data: words },
    });
    expectFailed(await endedRequest(connector), words.message);
    expect(ordered()).toBe(1);
    const users = body.shipment.shipment_items.flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id));
    expect(compensated.map(({ userId }) => userId).toSorted()).toEqual(users.map(idOfUser).toSorted());
  });

  test("is refused with the reason also if its end cannot be stored, which an error event says and the job does later", async () => {
    const connector = await testConnector(peers, {
      ports: ({ requests }) => ({
        requests: {
          ...requests,
          save: async (...given) => {
            if (ordered() > 0) throw new Error("storage is away");
            return requests.save(...given);
          },
        },
      }),
    });
    peers.delivery.fail({ kind: "refuse", method: "POST", status: 400, body: { code: "blocked", message: "No." } });
    expect(await refusalOf(connector.order())).toMatchObject({ status: 400 });
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    const event = { credentialRequestId: requestId, error: { message: "storage is away" } };
    expect(connector.events("abort_failed")).toMatchObject([event]);
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
  });
});
