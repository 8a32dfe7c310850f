import { describe, expect, test } from "vitest";
import { type Leaver, offboardPerson } from "../../../../lib/connector/cancel/offboard-person.ts";
import { revokeNow } from "../../../../lib/connector/cancel/revoke-now.ts";
import { personList } from "../../../../lib/connector/model/request-lists.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { listRow } from "../../../../lib/connector/storage/lists.table.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { withIdps } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { authenticator, idAt } from "../../../support/connector/on-site.ts";
import {
  idpsOf,
  newUser,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const caller = { kind: "tenant", application: "leavers", roles: ["support"] } as const;

/** A create body of one key for each list of users. */
function bodyFor(...users: readonly (readonly string[])[]): Body {
  const body = withoutPins(orderBody(users.map(({ length }) => length)));
  const items = body.shipment.shipment_items.map((item, key) => ({
    ...item,
    credentials: (users[key] ?? []).map(user_id => ({ user_id })),
  }));
  return { ...body, shipment: { ...body.shipment, shipment_items: items } };
}

/** Offboards, and returns the report in short. */
async function offboard({ context }: Pick<TestConnector, "context">, leaver: Leaver, dryRun = false) {
  const { credentials, isComplete } = await offboardPerson(leaver, caller, context, { dryRun });
  const short = credentials.map(({ credential, action, problem }) =>
    [action, credential.state, credential.revocation?.state ?? "-", ...(problem === undefined ? [] : [problem])].join(
      " ",
    ),
  );
  return { isComplete, credentials: short };
}

const registrations = (user: string) => peers.entra.registrations(user).length;
const placedOnly = () => peers.delivery.settings({ shipAfterMs: 3_600_000 });

describe("to offboard a person", () => {
  test("revokes active credentials and cancels open requests, and leaves other people's", async () => {
    const connector = await testConnector(peers);
    const [ada, grace] = [newUser(), newUser()];
    await connector.orderAndRun(bodyFor([ada, grace], [grace]));
    connector.advance(1);
    placedOnly();
    const { requestId } = await connector.order(bodyFor([ada]));
    expect(await offboard(connector, { userId: ada.toUpperCase() })).toEqual({
      isComplete: true,
      credentials: ["revoke active revoked", "cancel cancelled -"],
    });
    expect([registrations(ada), registrations(grace)]).toEqual([0, 2]);
    expect((await connector.read(requestId)).state).toBe("cancelled");
    expect(connector.events("person_offboarded")).toMatchObject([{ credentials: 2, isComplete: true }]);
    expect(connector.lines.join("\n")).not.toContain(ada);
  });

  test("changes nothing in a dry run, which reports what would be done", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    const { requestId } = await connector.orderAndRun(bodyFor([ada]));
    const before = await connector.load(requestId);
    expect(await offboard(connector, { userId: ada }, true)).toEqual({
      isComplete: false,
      credentials: ["revoke active -"],
    });
    expect(await connector.load(requestId)).toEqual(before);
    expect(peers.entra.count("DELETE", /./)).toBe(0);
  });

  test("repeats nothing that is done, and says that all is done", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    await connector.orderAndRun(bodyFor([ada]));
    await offboard(connector, { userId: ada });
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: true,
      credentials: ["none active revoked"],
    });
    expect(peers.entra.count("DELETE", /fido2Methods\//)).toBe(1);
  });

  test("revokes what is active also if the open rest of its request cannot be cancelled", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    placedOnly();
    const onSite = authenticator(1, { pin_request: undefined, credentials: [{ user_id: ada }] });
    const { requestId, shipmentId = "" } = await connector.order({ ...bodyFor([ada]), authenticators: [onSite] });
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(registrations(ada)).toBe(1);
    await peers.delivery.control(shipmentId, { state: 102 });
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: false,
      credentials: ["revoke active revoked", expect.stringMatching(/^cancel processing - The delivery service/)],
    });
    expect(registrations(ada)).toBe(0);
  });

  test("says what it left when its time was over", async () => {
    const connector = await testConnector(peers, {
      ports: (context, clock) => ({
        idps: idpsOf(context, idp => ({
          revoke: async (...given) => {
            clock.advance(minutes(2));
            await idp.revoke(...given);
          },
        })),
      }),
    });
    const ada = newUser();
    await connector.orderAndRun(bodyFor([ada]));
    connector.advance(1);
    await connector.orderAndRun(bodyFor([ada]));
    const left = "revoke active - The call timed out before this credential was handled. Repeat the call.";
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: false,
      credentials: ["revoke active revoked", left],
    });
    expect(await offboard(connector, { userId: ada })).toMatchObject({ isComplete: true });
  });

  test("is not complete while a request of the person is being written", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    const place = { createdAt: connector.now(), requestId: "being-written" };
    await indexWriter(connector.deployment.tables, connector.now).put([listRow(place, personList(ada))]);
    expect(await offboard(connector, { userId: ada })).toEqual({ isComplete: false, credentials: [] });
    connector.advance(hours(2));
    expect(await offboard(connector, { userId: ada })).toEqual({ isComplete: true, credentials: [] });
  });

  test("reports an open credential beside those of others as left, and revokes it when it is active", async () => {
    const connector = await testConnector(peers);
    const [ada, grace] = [newUser(), newUser()];
    placedOnly();
    const { requestId } = await connector.order(bodyFor([ada], [grace]));
    const { isComplete, credentials } = await offboard(connector, { userId: ada });
    expect(isComplete).toBe(false);
    expect(credentials).toEqual([
      expect.stringMatching(/^none processing - The request has open credentials of other/),
    ]);
    expect((await connector.read(requestId)).state).toBe("started");
  });

  test("says of a produced key that it cannot be cancelled, and revokes its credential when that is active", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    await connector.orderAndPoll(bodyFor([ada]));
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: false,
      credentials: [expect.stringMatching(/^none activation_pending - The key has been produced/)],
    });
    await connector.runCredentials();
    expect(await offboard(connector, { userId: ada })).toMatchObject({ isComplete: true });
    expect(registrations(ada)).toBe(0);
  });

  test("revokes the credentials of archived requests, too", async () => {
    const connector = await testConnector(peers, { settings: { REGISTER_KEEP_DAYS: "30" } });
    const ada = newUser();
    const { requestId } = await connector.orderAndRun(bodyFor([ada]));
    connector.advance(days(1));
    await connector.runCleanUp(1);
    expect((await connector.requestRow(requestId)).isArchived).toBe(true);
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: true,
      credentials: ["revoke active revoked"],
    });
    expect(registrations(ada)).toBe(0);
  });

  test("leaves credentials at other IdPs than the one that is named", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    await connector.orderAndRun(bodyFor([ada]));
    expect(await offboard(connector, { userId: ada, idpId: "another" })).toEqual({ isComplete: true, credentials: [] });
    expect(registrations(ada)).toBe(1);
  });

  test("by email revokes the credentials of the user of that email, and names other users of the recipient's requests", async () => {
    const connector = await testConnector(peers);
    const [ada, admin, stranger] = [newUser(), newUser(), newUser()];
    const body = bodyFor([ada, admin]);
    await connector.orderAndRun({ ...body, recipient: { ...body.recipient, email: ada } });
    connector.advance(1);
    await connector.orderAndRun(bodyFor([ada, stranger]));
    const { isComplete, credentials } = await offboard(connector, { email: ada });
    expect(isComplete).toBe(false);
    expect(credentials).toEqual([
      "revoke active revoked",
      expect.stringMatching(/^none active - The recipient's request has a credential of this user/),
      "revoke active revoked",
    ]);
    expect([registrations(ada), registrations(admin), registrations(stranger)]).toEqual([0, 1, 1]);
  });

  test("continues after an IdP that is not responding: the credential is revoking, and a job revokes it", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    await connector.orderAndRun(bodyFor([ada]));
    peers.entra.fail({ kind: "refuse", status: 503, method: "DELETE", times: 1000 });
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: false,
      credentials: ["revoke active revoking"],
    });
    peers.entra.clearFaults();
    connector.advance(minutes(30));
    await connector.runCredentials("timer");
    expect(await offboard(connector, { userId: ada })).toMatchObject({ isComplete: true });
    expect(registrations(ada)).toBe(0);
  });

  test("is not stopped by a request that cannot be read, and is not complete", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    const { requestId } = await connector.orderAndRun(bodyFor([ada]));
    connector.advance(1);
    await connector.orderAndRun(bodyFor([ada]));
    const damaged = connector.anotherInstance({
      ports: ({ requests }) => ({
        requests: {
          ...requests,
          load: async id => (id === requestId ? Promise.reject(new Error("the row is damaged")) : requests.load(id)),
        },
      }),
    });
    expect(await offboard(damaged, { userId: ada })).toEqual({
      isComplete: false,
      credentials: ["revoke active revoked"],
    });
    expect(registrations(ada)).toBe(1);
  });

  test("revokes a failed credential that may have been registered", async () => {
    const connector = await testConnector(peers, { ports: withIdps(() => ({ isRegistered: async () => undefined })) });
    const ada = newUser();
    await connector.orderAndPoll(bodyFor([ada]));
    peers.entra.fail({ kind: "drop", phase: "after", method: "POST", path: "fido2Methods$" });
    for (let run = 0; run < 3; run++) {
      await connector.runCredentials();
      connector.advance(minutes(1));
    }
    expect(await offboard(connector, { userId: ada }, true)).toEqual({
      isComplete: false,
      credentials: ["revoke failed -"],
    });
    expect(registrations(ada)).toBe(1);
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: true,
      credentials: ["revoke failed revoked"],
    });
    expect(registrations(ada)).toBe(0);
  });

  test("leaves one that may have been registered and has no id to a person, who can end its doubt", async () => {
    const connector = await testConnector(peers);
    const ada = newUser();
    const { requestId } = await connector.order(bodyFor([ada]));
    const loaded = await connector.load(requestId);
    const failed = { state: "failed", mayBeRegistered: true } as const;
    const keys = loaded?.keys.map(key => ({
      ...key,
      credentials: key.credentials.map(each => ({ ...each, ...failed })),
    }));
    if (loaded && keys) await connector.context.requests.save(loaded, { keys });
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: false,
      credentials: [
        "none failed - It may have been registered, and its id is not known: look for it at the identity provider by " +
          "its user, remove it there, then revoke it with not_registered.",
      ],
    });
    const settled = { requestId, keyId: "s-01-001", credential: 1, isNotRegistered: true };
    await revokeNow(settled, caller, connector.context);
    expect(await offboard(connector, { userId: ada })).toEqual({
      isComplete: true,
      credentials: ["none failed revoked"],
    });
  });

  test("revokes one that may have been registered again while that fails, as one that is active", async () => {
    const unknown = new PeerFailure("IdP entra", "revocation", "refused", { detail: "The user has no such key." });
    const connector = await testConnector(peers, {
      ports: withIdps(() => ({ isRegistered: async () => undefined, revoke: () => Promise.reject(unknown) })),
    });
    const ada = newUser();
    await connector.orderAndPoll(bodyFor([ada], [ada]));
    peers.entra.fail({ kind: "drop", phase: "after", method: "POST", path: "fido2Methods$" });
    for (let run = 0; run < 3; run++) {
      await connector.runCredentials();
      connector.advance(minutes(1));
    }
    const again =
      "Its revocation failed: see `revocation`. Repeat the call when the cause is removed. If the identity provider " +
      "does not have the credential, revoke it with not_registered.";
    for (let time = 0; time < 2; time++)
      expect(await offboard(connector, { userId: ada })).toEqual({
        isComplete: false,
        credentials: [`revoke failed revoke_failed ${again}`, `revoke active revoke_failed ${again}`],
      });
    const failed = connector.events("credential_revoke_failed").map(({ keyId }) => keyId);
    expect(failed.toSorted()).toEqual(["s-01-001", "s-01-001", "s-02-001", "s-02-001"]);
  });

  test("may stop at any write: a repeat ends it, and removes nobody else's credential", async () => {
    for (const phase of ["before", "after"] as const) {
      for (let at = 0; ; at++) {
        const connector = await testConnector(peers);
        const [ada, grace] = [newUser(), newUser()];
        await connector.orderAndRun(bodyFor([ada, grace]));
        const dying = crashing(at, phase);
        const dead = connector.anotherInstance(dying.options);
        const end = await Promise.race([dying.died, offboard(dead, { userId: ada }).then(() => undefined)]);
        if (end === undefined) break;
        // Longer than any lease.
        connector.advance(minutes(20));
        await connector.runJobs();
        const of = `${phase} ${end}`;
        expect(await offboard(connector, { userId: ada }), of).toMatchObject({ isComplete: true });
        expect([registrations(ada), registrations(grace)], of).toEqual([0, 1]);
      }
    }
  });
});
