import { describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { type RevocationScope, requestRevocation, revokeNow } from "../../../../lib/connector/cancel/revoke-now.ts";
import type { Credential } from "../../../../lib/connector/model/credential.ts";
import { securityKeyOf } from "../../../../lib/connector/model/loaded-request.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { days, minutes, plus } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/faults.ts";
import { idOfUser } from "../../../../local/peers/uuid-of.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import {
  type ConnectorOptions,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);
const caller = { kind: "tenant", application: "help-desk", subject: "jane", roles: ["support"] } as const;
const removals = () => peers.entra.count("DELETE", /fido2Methods\//);
const failing = (rule: FaultRule) => peers.entra.fail({ method: "DELETE", times: 3, ...rule });

interface Subject {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly users: readonly string[];
  revoke(scope?: Omit<RevocationScope, "requestId">, of?: TestConnector): ReturnType<typeof revokeNow>;
  /** The revocation of each credential as read, in the order of the request. */
  revocations(): Promise<readonly unknown[]>;
  /** Which users have a registration at the IdP. */
  registered(): readonly boolean[];
}

const revokerOf = (connector: TestConnector, requestId: string, body: Body): Subject => {
  const users = body.shipment.shipment_items.flatMap((item: Body) => item.credentials.map((one: Body) => one.user_id));
  return {
    connector,
    requestId,
    users,
    revoke: (scope, of = connector) => revokeNow({ requestId, ...scope }, caller, of.context),
    revocations: async () =>
      ((await connector.read(requestId)).shipment?.shipment_items ?? []).flatMap(({ credentials }) =>
        credentials.map(({ state, revocation }) => revocation && { state, ...revocation }),
      ),
    registered: () => users.map((user: string) => peers.entra.registrations(user).length === 1),
  };
};

/** Changes the stored credentials of a request. */
async function rewrite(
  connector: TestConnector,
  requestId: string,
  change: (credential: Credential, index: number) => Credential,
): Promise<void> {
  const loaded = await connector.load(requestId);
  const keys = loaded.keys.map(key => ({ ...key, credentials: key.credentials.map(change) }));
  await connector.context.requests.save(loaded, { keys });
}

/** A request whose credentials are all active, by default of one key without a PIN. */
async function active(body: Body = withoutPins(orderBody()), options: ConnectorOptions = {}): Promise<Subject> {
  const connector = await testConnector(peers, options);
  const { requestId } = await connector.orderAndRun(body);
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return revokerOf(connector, requestId, body);
}

describe("a revocation", () => {
  test("removes every active credential of a request at its IdP, and the states stay", async () => {
    const { connector, requestId, revoke, revocations, registered } = await active(withoutPins(orderBody([2, 1])));
    const { isRevoked } = await revoke();
    expect(isRevoked).toBe(true);
    expect(registered()).toEqual([false, false, false]);
    const at = connector.now();
    const revoked = { state: "revoked", reason: "requested", requested_at: at, revoked_at: at, failed_attempts: 0 };
    expect(await revocations()).toEqual(Array(3).fill(revoked));
    const read = await connector.read(requestId);
    expect(read).toMatchObject({ state: "complete" });
    expect(read.shipment?.shipment_items[0]).toMatchObject({
      state: "complete",
      credentials: [{ state: "revoked" }, { state: "revoked" }],
    });
    expect((await connector.keyRow(requestId)).credentials[0]?.revocation?.requestedBy).toEqual(caller);
    expect(connector.events("revocation_requested")).toMatchObject([{ reason: "requested" }]);
    expect(connector.events("credential_revoked")).toHaveLength(3);
    expect(await connector.queue("key")).toEqual([]);
  });

  test("is limited to one key, or to one credential of it", async () => {
    const { revoke, registered } = await active(withoutPins(orderBody([2, 2])));
    await revoke({ keyId: "s-01-001", credential: 2 });
    expect(registered()).toEqual([true, false, true, true]);
    expect(await revoke({ keyId: "s-02-001" })).toMatchObject({ isRevoked: true });
    expect(registered()).toEqual([true, false, false, false]);
  });

  test("that is repeated changes nothing and calls no IdP", async () => {
    const { connector, requestId, revoke } = await active();
    await revoke();
    const before = await connector.load(requestId);
    expect(await revoke()).toMatchObject({ isRevoked: true, loaded: before });
    expect(removals()).toBe(1);
  });

  test("of what does not exist is answered 404", async () => {
    const { connector, revoke } = await active();
    const wrong = [{ keyId: "s-09-001" }, { keyId: "s-01-001", credential: 2 }, { keyId: "s-01-001", credential: 0 }];
    for (const scope of wrong) expect(await refusalOf(revoke(scope))).toMatchObject({ status: 404 });
    const unknown = revokeNow({ requestId: "unknown" }, caller, connector.context);
    expect(await refusalOf(unknown)).toMatchObject({ status: 404 });
  });

  test("without an active credential is answered 409 with the way out, and changes nothing", async () => {
    const body = withoutPins(orderBody());
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(body);
    const { revoke } = revokerOf(connector, requestId, body);
    const before = await connector.load(requestId);
    const answered = {
      status: 409,
      body: { error_message: "No credential is active yet. Wait for the activation, or cancel the request." },
    };
    expect(await refusalOf(revoke())).toMatchObject(answered);
    await connector.runShipments();
    expect(await refusalOf(revoke())).toMatchObject({
      status: 409,
      body: { error_message: "No credential is active yet. Repeat the call when the credential is active." },
    });
    expect(before.request.state).toBe("started");
    const other = await connector.order(withoutPins(orderBody()));
    await peers.delivery.control(other.shipmentId ?? "", { state: 101 });
    await cancelRequest(other.requestId, connector.context);
    const ended = revokeNow({ requestId: other.requestId }, caller, connector.context);
    expect(await refusalOf(ended)).toMatchObject({
      status: 409,
      body: { error_message: "No credential has become active, so none can be revoked." },
    });
  });

  test("does not call a credential without an id removed that may have been registered", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndRun(withoutPins(orderBody([2])));
    await rewrite(connector, requestId, (credential, index) => {
      const { credentialId, ...rest } = credential;
      return index === 0 ? { ...rest, state: "failed", mayBeRegistered: true } : credential;
    });
    expect(await revokeNow({ requestId }, caller, connector.context)).toMatchObject({ isRevoked: false });
    const one = revokeNow({ requestId, keyId: "s-01-001", credential: 1 }, caller, connector.context);
    expect(await refusalOf(one)).toMatchObject({
      status: 409,
      body: { error_message: expect.stringContaining("remove it there, then revoke it with not_registered.") },
    });
  });

  test("leaves open credentials to be activated, and can be repeated for them", async () => {
    const body = withoutPins(orderBody([2]));
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndPoll(body);
    const { revoke, registered, users } = revokerOf(connector, requestId, body);
    const [, user = ""] = users;
    peers.entra.fail({ kind: "refuse", status: 503, method: "POST", path: idOfUser(user) });
    await connector.runCredentials();
    expect(await revoke()).toMatchObject({ isRevoked: true });
    expect(registered()).toEqual([false, false]);
    connector.advance(minutes(2));
    await connector.runCredentials();
    expect(registered()).toEqual([false, true]);
    await revoke();
    expect(registered()).toEqual([false, false]);
  });

  test("is an event of the credential", async () => {
    const settings = { EVENT_SINK_URLS: `${sink.url}/hook` };
    const { connector, revoke } = await active(withoutPins(orderBody()), { settings });
    await revoke();
    await connector.runCredentials();
    expect(typesAt(sink).at(-1)).toBe("credential.revoked");
  });
});

describe("a person who has checked that the identity provider does not have a credential", () => {
  const settled = { keyId: "s-01-001", credential: 1, isNotRegistered: true };
  const revoked = { state: "revoked", reason: "requested" };

  test("ends the doubt of one that may have been registered, without a call and for good", async () => {
    const { connector, requestId, revoke, revocations } = await active();
    await rewrite(connector, requestId, ({ credentialId, ...rest }) => ({
      ...rest,
      state: "failed",
      errorMessage: "Login failure",
      mayBeRegistered: true,
    }));
    const read = async () => (await connector.read(requestId)).shipment?.shipment_items[0]?.credentials[0];
    expect(await read()).toMatchObject({
      state: "failed",
      may_be_registered: true,
      error_message: "It may have been registered: check at the identity provider. Login failure",
    });
    expect(await revoke(settled)).toMatchObject({ isRevoked: true });
    expect(await revocations()).toMatchObject([{ ...revoked, requested_at: connector.now(), failed_attempts: 0 }]);
    expect(await read()).not.toHaveProperty("may_be_registered");
    expect(await read()).toMatchObject({ error_message: "Login failure" });
    const before = await connector.load(requestId);
    for (const scope of [settled, {}]) expect(await revoke(scope)).toMatchObject({ isRevoked: true, loaded: before });
    expect(peers.entra.count("DELETE", /./)).toBe(0);
  });

  test.each([
    ["has failed", days(15), "revoke_failed"],
    ["is in progress", 0, "revoking"],
  ] as const)("ends a revocation that %s", async (_, waitMs, state) => {
    const { connector, revoke, revocations } = await active();
    failing({ kind: "refuse", status: 403, times: 1000 });
    await revoke();
    connector.advance(waitMs);
    await connector.runCredentials("timer");
    expect(await revocations()).toMatchObject([{ state, error_message: expect.any(String) }]);
    const calls = removals();
    expect(await revoke(settled)).toMatchObject({ isRevoked: true });
    expect(await revocations()).toMatchObject([revoked]);
    expect(connector.events("revocation_requested").at(-1)).toMatchObject({ isNotRegistered: true });
    connector.advance(days(1));
    await connector.runCredentials("timer");
    expect([removals(), await connector.queue("key")]).toEqual([calls, []]);
  });

  test("does not end a credential that is active and whose revocation was not tried", async () => {
    const { revoke, registered } = await active();
    expect(await refusalOf(revoke(settled))).toMatchObject({
      status: 409,
      body: { error_message: "The credential is active. Revoke it without not_registered first." },
    });
    expect(registered()).toEqual([true]);
  });
});

describe("a revocation of a user who is known by name only", () => {
  const byName = async () => {
    peers.entra.settings({ readsUsers: false });
    const subject = await active();
    peers.entra.settings({ readsUsers: true });
    const again = async () => {
      peers.entra.clearFaults();
      subject.connector.advance(minutes(1));
      await subject.connector.runCredentials("timer");
      return subject.revocations();
    };
    const rename = () => peers.entra.renameUser(subject.users[0] ?? "", `renamed-${newUser()}`);
    return { ...subject, again, rename };
  };

  test("succeeds when a later list shows that the removal without an answer was done", async () => {
    const { revoke, again } = await byName();
    failing({ kind: "drop", phase: "after" });
    expect(await revoke()).toMatchObject({ isRevoked: false });
    peers.entra.fail({ kind: "refuse", status: 503, method: "GET", path: "fido2Methods", times: 3 });
    expect(await again()).toMatchObject([{ state: "revoked" }]);
  });

  test.each<[string, FaultRule]>([
    ["the list was not answered", { kind: "refuse", status: 503, method: "GET", path: "fido2Methods" }],
    ["the removal was not received", { kind: "refuse", status: 429 }],
    ["the removal was not answered", { kind: "refuse", status: 503 }],
  ])("fails if %s and the name is unknown then", async (_, rule) => {
    const { revoke, again, rename } = await byName();
    failing(rule);
    await revoke();
    rename();
    expect(await again()).toMatchObject([{ state: "revoke_failed" }]);
  });

  test.each<[string, FaultRule]>([
    ["the list was not answered", { kind: "refuse", status: 503, method: "GET", path: "fido2Methods" }],
    ["the removal was not received", { kind: "refuse", status: 429 }],
  ])("fails if %s and another user has the name then", async (_, rule) => {
    const { users, revoke, again, rename } = await byName();
    failing(rule);
    await revoke();
    rename();
    peers.entra.renameUser(newUser(), users[0] ?? "");
    expect(await again()).toMatchObject([{ state: "revoke_failed" }]);
  });
});

describe("a revocation that fails", () => {
  test("is tried at once by a repeated call", async () => {
    const { connector, revoke, revocations, registered } = await active();
    failing({ kind: "refuse", status: 403, times: 1000 });
    await revoke();
    const requested = connector.now();
    for (const wait of [minutes(2), minutes(3), minutes(5), minutes(9)]) {
      connector.advance(wait);
      await connector.runCredentials("timer");
    }
    peers.entra.clearFaults();
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(registered()).toEqual([true]);
    expect(await revoke()).toMatchObject({ isRevoked: true });
    expect(await revocations()).toMatchObject([{ state: "revoked", requested_at: requested, failed_attempts: 5 }]);
    expect(registered()).toEqual([false]);
  });

  test("waits for the IdP's Retry-After, also if it is repeated", async () => {
    const { connector, revoke, registered } = await active();
    failing({ kind: "throttle", retryAfter: 600 });
    await revoke();
    connector.advance(minutes(9));
    await revoke();
    await connector.runCredentials();
    expect([registered(), removals()]).toEqual([[true], 1]);
    peers.entra.clearFaults();
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(registered()).toEqual([false]);
  });

  test("ends with an error event when the period for retries is over, and starts anew with the next call", async () => {
    const { connector, requestId, revoke, revocations, registered } = await active();
    failing({ kind: "refuse", status: 403, times: 1000 });
    await revoke();
    const { retryForMs } = connector.context.intervals;
    connector.advance(retryForMs - minutes(1));
    await connector.runCredentials("timer");
    expect(await revocations()).toMatchObject([{ state: "revoking" }]);
    expect((await connector.keyRow(requestId)).due?.at).toBe(plus(connector.now(), minutes(1)));
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(await revocations()).toMatchObject([{ state: "revoke_failed", failed_attempts: 3 }]);
    expect(connector.events("credential_revoke_failed")).toMatchObject([{ keyId: "s-01-001", index: 0, idp: "entra" }]);
    expect(connector.events("revocation_failed")).toHaveLength(3);
    expect(await connector.queue("key")).toEqual([]);
    peers.entra.clearFaults();
    expect(await revoke()).toMatchObject({ isRevoked: true });
    expect(await revocations()).toMatchObject([
      { state: "revoked", failed_attempts: 0, requested_at: connector.now() },
    ]);
    expect(registered()).toEqual([false]);
  });

  test("because its IdP is not configured, or its state cannot be opened, waits too", async () => {
    const { connector, revoke, revocations, registered } = await active();
    const other = { get: () => undefined, defaultId: "entra" };
    await revoke({}, connector.anotherInstance({ ports: () => ({ idps: other }) }));
    expect(await revocations()).toMatchObject([
      { state: "revoking", error_message: "The identity provider entra is no longer configured." },
    ]);
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(registered()).toEqual([false]);
  });
});

describe("the PIN email of a security key that is revoked", () => {
  /** A request of one key with a PIN, whose credentials are active and whose email is due. */
  async function withMailDue(credentials = 1) {
    const body = orderBody([credentials]);
    peers.mail.fail({ kind: "refuse", status: 500, method: "POST", times: 100 });
    const subject = await active(body);
    peers.mail.clearFaults();
    expect((await subject.connector.keyRow(subject.requestId)).mail.state).toBe("due");
    return { ...subject, mails: () => mailsTo(body.recipient.email) };
  }
  const mailsTo = (to: string) => peers.mail.mails().filter(mail => mail.to.includes(to));

  test("is not sent any more, and reads say why", async () => {
    const { connector, requestId, revoke, mails } = await withMailDue();
    await revoke();
    connector.advance(days(1));
    await connector.runCredentials();
    expect(mails()).toEqual([]);
    expect((await connector.keyRow(requestId)).mail.state).toBe("none");
    expect((await connector.read(requestId)).shipment?.shipment_items[0]?.credentials[0]).toMatchObject({
      error_message: "No PIN email is sent: every credential of the security key is revoked or has failed.",
    });
    expect(await refusalOf(resendPin(requestId, connector.context))).toMatchObject({
      status: 409,
      body: { error_message: "There is no PIN to send: its credentials are revoked (s-01-001)." },
    });
  });

  test("is sent if another credential of the key is left, and names its user only", async () => {
    const { connector, revoke, users, mails } = await withMailDue(2);
    await revoke({ keyId: "s-01-001", credential: 1 });
    connector.advance(days(1));
    await connector.runCredentials();
    const [mail, ...others] = mails();
    expect(others).toEqual([]);
    expect(mail?.text).toContain(users[1]);
    expect(mail?.text).not.toContain(users[0]);
  });

  test("that was sent is not sent again", async () => {
    const body = orderBody();
    const { connector, requestId, revoke } = await active(body);
    await revoke();
    expect(await refusalOf(resendPin(requestId, connector.context))).toMatchObject({
      status: 409,
      body: { error_message: "There is no PIN to send: its credentials are revoked (s-01-001)." },
    });
    expect(mailsTo(body.recipient.email)).toHaveLength(1);
  });
});

describe("a revocation beside other work", () => {
  test("waits while a job has the lease of the key, and is then stored for the job", async () => {
    const { connector, requestId, revoke, revocations, registered } = await active();
    const loaded = await connector.load(requestId);
    const key = securityKeyOf(loaded, "s-01-001");
    const at = connector.now();
    const lease = { owner: "job", until: plus(at, minutes(3)) };
    const leased = { ...key, lease, due: { queue: "key", at: plus(at, days(1)) } } as const;
    await connector.context.requests.save(loaded, { keys: [leased] });
    expect(await revoke()).toMatchObject({ isRevoked: false });
    expect(await revocations()).toMatchObject([{ state: "revoking", failed_attempts: 0 }]);
    expect(removals()).toBe(0);
    connector.advance(minutes(4));
    await connector.runCredentials("timer");
    expect(registered()).toEqual([false]);
    expect((await connector.keyRow(requestId)).lease).toBeUndefined();
  });

  test.each(["credentialrequests.replace", "credentialrequests.replace 2", "credentialrequests.replace 3"])(
    "survives a stop of its host at %s, before and after",
    async at => {
      for (const phase of ["before", "after"] as const) {
        const { connector, revoke, revocations, registered } = await active();
        const { died, options, goOn } = crashing(at, phase);
        const stopped = revoke({}, connector.anotherInstance(options)).catch(() => undefined);
        await died;
        connector.advance(minutes(4));
        await connector.runCredentials("timer");
        const isStored = (await revocations())[0] !== undefined;
        // Only a call that stopped before its first write has stored nothing.
        expect(isStored).toBe(!(phase === "before" && !at.includes(" ")));
        if (isStored) expect([await revocations(), registered()]).toMatchObject([[{ state: "revoked" }], [false]]);
        goOn();
        await stopped;
        await connector.runCredentials("timer");
        expect(registered()).toEqual([false]);
        expect(await revocations()).toMatchObject([{ state: "revoked" }]);
        expect(await connector.queue("key")).toEqual([]);
      }
    },
  );

  test("keeps its request from clean-up and erasure until it has ended", async () => {
    const body = withoutPins(orderBody());
    const { connector, revoke } = await active(body);
    failing({ kind: "refuse", status: 503, times: 1000 });
    await revoke();
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0 });
    const who = { by: "email", name: body.recipient.email } as const;
    expect(await eraseRecipient(who, connector.context)).toMatchObject({
      erased: 0,
      left: [{ reason: "Credentials of the request are being revoked." }],
    });
    peers.entra.clearFaults();
    await connector.runCredentials("timer");
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
  });

  test.each(["clean-up", "erasure"])("is not lost to a %s that has read the request before", async work => {
    const body = withoutPins(orderBody());
    const { connector, requestId, revoke, registered } = await active(body);
    connector.advance(days(2));
    const who = { by: "email", name: body.recipient.email } as const;
    const { died, options, goOn } = crashing("credentialrequests.transact", "before");
    const slow = connector.anotherInstance(options);
    const ended = work === "erasure" ? eraseRecipient(who, slow.context, { leaveActive: true }) : slow.runCleanUp(1);
    await died;
    failing({ kind: "refuse", status: 503 });
    await revoke();
    goOn();
    expect(await ended).toMatchObject(
      work === "erasure" ? { erased: 0, left: [{ reason: "The request was changed meanwhile." }] } : { deleted: 0 },
    );
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(registered()).toEqual([false]);
    // The request is still in its lists, and goes with them.
    expect(await eraseRecipient(who, connector.context)).toMatchObject({ erased: 1, requests: [{ requestId }] });
  });

  test("is one save for other operations, which a job carries out", async () => {
    const { connector, requestId, registered, revocations } = await active(withoutPins(orderBody([1, 1])));
    const loaded = await connector.load(requestId);
    const calls = await connector.counted(() =>
      requestRevocation(loaded, ({ id }) => id === "s-02-001", { reason: "lost" }, connector.context),
    );
    expect(calls.result.keys).toMatchObject([loaded.keys[0], { id: "s-02-001" }]);
    expect(await revocations()).toMatchObject([undefined, { state: "revoking", reason: "lost" }]);
    await connector.runCredentials("timer");
    expect(registered()).toEqual([true, false]);
  });
});
