import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PeerFailure } from "../../../../lib/platform/peers/peer-failure.ts";
import { between, days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { idpFile } from "../../../../local/peers/all.ts";
import {
  type AuthenticatorWish,
  authenticator,
  authenticatorsOf,
  idAt,
  mixedBody,
  onSiteBody,
  recordedCalls,
} from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  newUser,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const polls = () => peers.rfpr.count("GET", /authenticator-requests/);
const activations = () => peers.entra.count("POST", /fido2Methods/);

interface Waiting {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly body: ReturnType<typeof onSiteBody>;
  /** Of the authenticators, as read. */
  states(): Promise<readonly unknown[]>;
  credentials(position?: number): Promise<readonly Record<string, unknown>[]>;
}

/** A started request whose authenticators wait to be enrolled. */
async function waiting(
  authenticators?: readonly AuthenticatorWish[],
  options: ConnectorOptions = {},
): Promise<Waiting> {
  const connector = await testConnector(peers, options);
  const body = onSiteBody(authenticators);
  const { requestId } = await connector.order(body);
  const read = async () => (await connector.read(requestId)).authenticators ?? [];
  return {
    connector,
    requestId,
    body,
    states: async () => (await read()).map(({ state }) => state),
    credentials: async (position = 0) => (await read())[position]?.credentials ?? [],
  };
}

describe("an authenticator that is enrolled", () => {
  test("is activated and its PIN mailed by one run of process-credential-requests; process-shipments leaves it alone", async () => {
    const { connector, requestId, body } = await waiting([authenticator(2, { name: "Desk 4" })]);
    const { serialNumber } = await peers.rfpr.enroll(idAt(requestId));
    await connector.runShipments();
    expect(polls()).toBe(0);
    expect(await connector.runCredentials()).toEqual({ processed: 2, activated: 2, failed: 0, pending: 0, left: 0 });
    expect(await connector.read(requestId)).toMatchObject({
      state: "complete",
      authenticators: [{ id: "a-01", name: "Desk 4", state: "complete", credentials: [{ state: "active" }, {}] }],
    });
    const users = body.authenticators[0]?.credentials.map(({ user_id }) => user_id) ?? [];
    const registered = peers.entra.registrations().filter(({ userId }) => users.includes(userId));
    expect(registered.map(({ userId, displayName }) => [userId, displayName])).toEqual(
      users.map(user => [user, `Desk 4: ${serialNumber}`]),
    );
    const [mail, ...others] = peers.mail.mails().filter(({ to }) => to.includes(body.recipient.email));
    expect([mail?.text?.includes(serialNumber ?? "none"), others]).toEqual([true, []]);
    const pin = /^ {4}(\S+)\r?$/m.exec(mail?.text ?? "")?.[1] ?? "";
    expect(peers.rfpr.opens(idAt(requestId), pin)).toBe(true);
  });

  test("has its responses stored as received, before the row names them", async () => {
    const written: string[] = [];
    const { connector, requestId } = await waiting([authenticator(3)], {
      ports: ({ requests, responses }) => ({
        requests: {
          ...requests,
          save: async (loaded, changes) => {
            if (changes.keys?.some(key => key.responses !== undefined)) written.push("row");
            return requests.save(loaded, changes);
          },
        },
        responses: {
          ...responses,
          put: async (...args) => {
            const name = await responses.put(...args);
            written.push("blob");
            return name;
          },
        },
      }),
    });
    const { serialNumber } = await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(written.slice(0, 2)).toEqual(["blob", "row"]);
    const key = await connector.keyRow(requestId, "a-01");
    expect(key).toMatchObject({ serial: serialNumber, responses: expect.stringMatching(`^${requestId}/a-01\\.`) });
    const copy = await connector.context.responses.get(key.responses ?? "");
    const jwe = /^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/;
    expect([copy?.credentials.length, copy?.serial]).toEqual([3, serialNumber]);
    expect([...(copy?.credentials ?? []), copy?.pin ?? ""].filter(response => !jwe.test(response))).toEqual([]);
  });

  test("keeps the order of its credentials, however slow and fast their IdPs are", async () => {
    const directory = mkdtempSync(join(tmpdir(), "idps-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const path = join(directory, "idps.yaml");
    writeFileSync(path, idpFile(peers));
    const { calls, fetch } = recordedCalls(peers);
    const connector = await testConnector(peers, {
      fetch,
      settings: { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path },
    });
    const users = Array.from({ length: 4 }, newUser);
    const [slow = "", fast = "", slower = "", last = ""] = users;
    const credentials = [
      { user_id: slow, idp_id: "entra" },
      { user_id: fast, idp_id: "pingone" },
      { user_id: slower, idp_id: "aic" },
      { user_id: last, idp_id: "entra" },
    ];
    // The first and the third answer when all others have.
    peers.entra.fail({ kind: "hang", path: encodeURIComponent(slow) });
    peers.entra.fail({ kind: "hang", path: slow });
    peers.aic.fail({ kind: "hang", path: "authenticate", phase: "after" });
    const taken = connector.order(onSiteBody([authenticator(0, { credentials })]));
    await Promise.all([
      peers.entra.untilHanging(),
      peers.aic.untilHanging(),
      peers.pingone.untilRequested("POST", /devices$/),
    ]);
    peers.aic.release();
    peers.entra.release();
    const { requestId } = await taken;

    const [shown] = authenticatorsOf(peers, requestId);
    expect(shown?.credentials.map(({ relyingParty }) => relyingParty)).toEqual([
      "login.microsoft.com",
      "pingone.example.com",
      "aic.example.com",
      "login.microsoft.com",
    ]);
    await peers.rfpr.enroll(idAt(requestId));
    calls.splice(0);
    await connector.runCredentials();
    expect((await connector.read(requestId)).authenticators?.[0]?.credentials).toMatchObject(
      credentials.map(credential => ({ ...credential, state: "active" })),
    );
    const activated = calls.filter(call =>
      /^(entra POST .*fido2Methods|pingone POST .*devices\/|aic POST .*authenticate)/.test(call),
    );
    expect(activated.map(call => call.split(" ")[0])).toEqual(["entra", "pingone", "aic", "entra"]);
  });

  test("is activated once by two hosts that work at once", async () => {
    const { connector, requestId } = await waiting(Array.from({ length: 3 }, () => authenticator()));
    for (const position of [0, 1, 2]) await peers.rfpr.enroll(idAt(requestId, position));
    const other = connector.anotherInstance();
    await Promise.all([connector.runCredentials(), other.runCredentials()]);
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(activations()).toBe(3);
    expect(peers.mail.count("POST", /emails:send/)).toBe(3);
  });

  test("is left alone while another host holds it", async () => {
    const { connector, requestId, states } = await waiting();
    await peers.rfpr.enroll(idAt(requestId));
    const loaded = await connector.load(requestId);
    const lease = { owner: "another", until: plus(connector.now(), seconds(180)) };
    const keys = loaded.keys.map(({ value }) => ({ ...value, lease }));
    await connector.context.requests.save(loaded, { keys });
    await connector.runCredentials();
    expect(polls()).toBe(0);
    connector.advance(seconds(180));
    await connector.runCredentials();
    expect(await states()).toEqual(["complete"]);
  });
});

describe("an authenticator that waits", () => {
  test("is polled after 5 minutes, backing off to an hour, by a timer; on demand at once", async () => {
    const { connector, requestId } = await waiting();
    const waits: number[] = [];
    for (let poll = 0; poll < 7; poll++) {
      const { due } = await connector.keyRow(requestId, "a-01");
      const wait = between(connector.now(), due?.at ?? "");
      waits.push(wait / minutes(1));
      connector.advance(wait - 1);
      await connector.runCredentials("timer");
      expect(polls()).toBe(poll);
      connector.advance(1);
      const report = await connector.runCredentials("timer");
      expect(report).toEqual({ processed: 1, activated: 0, failed: 0, pending: 1, left: 0 });
    }
    expect(waits).toEqual([5, 5, 10, 20, 40, 60, 60]);
    await connector.runCredentials("on_demand");
    expect(polls()).toBe(8);
    expect((await connector.queue("key")).length).toBe(1);
  });

  test("does not hold back another of the request that is enrolled", async () => {
    const { connector, requestId, states } = await waiting([authenticator(), authenticator()]);
    await peers.rfpr.enroll(idAt(requestId, 1));
    await connector.runCredentials();
    expect(await states()).toEqual(["processing", "complete"]);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("ends failed when the IdP's challenge is over, without being asked for any more", async () => {
    const learned: string[] = [];
    const { connector, requestId, credentials } = await waiting(undefined, {
      ports: ({ peerLimits }) => ({
        peerLimits: {
          ...peerLimits,
          of: peer => ({ ...peerLimits.of(peer), pauseAfter: () => void learned.push(peer) }),
        },
      }),
    });
    connector.advance(days(14) + hours(1));
    await connector.runCredentials("timer");
    expect(polls()).toBe(0);
    // No call was made, so it says nothing about the pre-registration API.
    expect(learned).toEqual([]);
    expect(await credentials()).toMatchObject([{ state: "failed", error_message: expect.stringMatching(/expired/) }]);
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(await connector.queue("key")).toEqual([]);
  });

  test("for 180 days where the IdP names no end", async () => {
    const { connector, requestId, states } = await waiting(undefined, {
      ports: ({ idps }) => ({
        idps: {
          ...idps,
          get: id => {
            const idp = idps.get(id);
            return (
              idp && {
                ...idp,
                creationOptions: async (wanted, signal) => {
                  const { expiresAt: _, ...challenge } = await idp.creationOptions(wanted, signal);
                  return challenge;
                },
              }
            );
          },
        },
      }),
    });
    const { createdAt } = await connector.requestRow(requestId);
    const [shown] = authenticatorsOf(peers, requestId);
    expect(between(createdAt, shown?.expiresAt ?? "")).toBe(days(180));
    connector.advance(days(180) - 1);
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["processing"]);
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["failed"]);
  });
});

describe("an authenticator that is not enrolled", () => {
  test.each([
    [{ decline: "Left the company" }, "cancelled", "Left the company"],
    [{ decline: "" }, "cancelled", "The enrollment was cancelled on site."],
    [{ fail: "The key is broken" }, "failed", "The key is broken"],
    [{ fail: "" }, "failed", "The authenticator could not be enrolled."],
    [{ expire: true as const }, "failed", "The time to enroll it is over."],
  ])("because of %j: its credentials end %s with the reason", async (change, state, reason) => {
    const { connector, requestId, states, credentials } = await waiting([authenticator(2)]);
    peers.rfpr.control(idAt(requestId), change);
    const report = await connector.runCredentials();
    expect(report).toMatchObject({ processed: 2, activated: 0, pending: 0 });
    expect(await states()).toEqual([state]);
    const outcome = "decline" in change ? "cancelled" : "failed";
    expect(connector.events("enrollment_ended")).toMatchObject([{ keyId: "a-01", outcome }]);
    expect(await credentials()).toMatchObject(Array(2).fill({ state, error_message: reason }));
    expect(await connector.read(requestId)).toMatchObject({ state });
    expect(await connector.queue("key")).toEqual([]);
  });

  test("because it was deleted there: cancelled", async () => {
    const { connector, requestId, states } = await waiting();
    await connector.context.rfpr?.remove(idAt(requestId));
    await connector.runCredentials();
    expect(await states()).toEqual(["cancelled"]);
    expect(connector.events("enrollment_poll_failed")).toMatchObject([{ keyId: "a-01" }]);
  });

  test("and can no longer be enrolled after it was cancelled", async () => {
    const { connector, requestId, states } = await waiting();
    const started = peers.rfpr.begin(idAt(requestId));
    await connector.context.rfpr?.cancel(idAt(requestId));
    await connector.context.rfpr?.cancel(idAt(requestId));
    await expect(started.finish()).rejects.toThrow(/cancelled already/);
    await connector.runCredentials();
    expect(await states()).toEqual(["cancelled"]);
  });

  test("in part: what could not be made fails, the rest is activated and its PIN mailed", async () => {
    const { connector, requestId, states, credentials, body } = await waiting([authenticator(3)]);
    await peers.rfpr.enroll(idAt(requestId), { fails: [1] });
    expect(await connector.runCredentials()).toMatchObject({ processed: 3, activated: 2, failed: 1, pending: 0 });
    const message = "Credential 2 cannot be made: the authenticator has no room for it.";
    expect(await credentials()).toMatchObject([
      { state: "active" },
      { state: "failed", error_message: message },
      { state: "active" },
    ]);
    expect(await states()).toEqual(["partial"]);
    expect(await connector.read(requestId)).toMatchObject({ state: "partial" });
    expect(peers.mail.mails().filter(({ to }) => to.includes(body.recipient.email))).toHaveLength(1);
  });
});

describe("a response that is not to be believed", () => {
  // jobs/failures/on-site.test.ts has responses of a wrong signature, key, request or form.
  test("because two were swapped is not activated, and says so; an honest one is", async () => {
    const { connector, requestId, states, credentials } = await waiting([authenticator(2)]);
    await peers.rfpr.enroll(idAt(requestId));
    peers.rfpr.control(idAt(requestId), { sabotage: "swapped" });
    await connector.runCredentials();
    const problem = expect.stringMatching(/^The key maker's response cannot be used: /);
    expect(await credentials()).toMatchObject(Array(2).fill({ state: "processing", error_message: problem }));
    expect(activations()).toBe(0);
    peers.rfpr.control(idAt(requestId), { sabotage: null });
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
    expect((await credentials()).map(({ error_message }) => error_message)).toEqual([undefined, undefined]);
  });

  test("of one credential does not hold back the other, which is activated and mailed while the first is asked for again", async () => {
    let spoilt = true;
    const { connector, requestId, states, credentials } = await waiting([authenticator(2)], {
      ports: ({ rfpr }) => ({
        ...(rfpr && {
          rfpr: {
            ...rfpr,
            get: async (...args) => {
              const response = await rfpr.get(...args);
              const [first = "", ...others] = response.responses.credentials;
              return spoilt
                ? { ...response, responses: { ...response.responses, credentials: ["garbage", ...others] } }
                : { ...response, responses: { ...response.responses, credentials: [first, ...others] } };
            },
          },
        }),
      }),
    });
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(await credentials()).toMatchObject([{ state: "processing" }, { state: "active" }]);
    expect((await connector.keyRow(requestId, "a-01")).mail.state).toBe("sent");
    spoilt = false;
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
    expect(peers.mail.count("POST", /emails:send/)).toBe(1);
  });
});

describe("a pre-registration API that fails while it is polled", () => {
  // jobs/failures/on-site.test.ts has the other failures.
  test("because it answers like a proxy: says so, and is asked again", async () => {
    const { connector, requestId, states, credentials } = await waiting();
    await peers.rfpr.enroll(idAt(requestId));
    peers.rfpr.fail({ kind: "refuse", status: 410, method: "GET", times: 3 });
    await connector.runCredentials();
    expect(await credentials()).toMatchObject([
      { state: "processing", error_message: expect.stringMatching(/^The enrollment could not be read: /) },
    ]);
    peers.rfpr.clearFaults();
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
  });

  test("because it cannot sign: the signing keys are read again later", async () => {
    const { connector, requestId, states, credentials } = await waiting();
    await peers.rfpr.enroll(idAt(requestId));
    peers.delivery.fail({ kind: "refuse", path: "sign", status: 500, times: 3 });
    await connector.runCredentials();
    expect(await credentials()).toMatchObject([{ state: "processing", error_message: expect.any(String) }]);
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
  });

  test("by throttling: no other is asked in this run, and none before its time, on demand neither", async () => {
    const { connector, states } = await waiting(
      Array.from({ length: 3 }, () => authenticator()),
      {
        limits: { callsAtOnce: 1 },
      },
    );
    peers.rfpr.fail({ kind: "throttle", method: "GET", retryAfter: 600 });
    await connector.runCredentials();
    expect(polls()).toBe(1);
    connector.advance(seconds(600) - 1);
    await connector.runCredentials("on_demand");
    expect(polls()).toBe(1);
    connector.advance(1);
    await connector.runCredentials("timer");
    expect(polls()).toBe(4);
    expect(await states()).toEqual(["processing", "processing", "processing"]);
  });

  test("by 502 with Retry-After: it is not asked again before that time, not even on demand", async () => {
    const failure = new PeerFailure("pre-registration API", "get", "unanswered", { status: 502, retryAfter: 7200 });
    const { connector, requestId } = await waiting(undefined, {
      ports: ({ rfpr }) => ({ ...(rfpr && { rfpr: { ...rfpr, get: () => Promise.reject(failure) } }) }),
    });
    await connector.runCredentials();
    const end = plus(connector.now(), seconds(7200));
    expect((await connector.keyRow(requestId, "a-01")).due).toMatchObject({ at: end, notBefore: end });
  });

  test.each([401, 403])(
    "by %i: one error event, no item changes, and what is enrolled already continues",
    async status => {
      const { connector, requestId, states } = await waiting(
        Array.from({ length: 3 }, () => authenticator()),
        {
          limits: { callsAtOnce: 1 },
        },
      );
      await peers.rfpr.enroll(idAt(requestId, 0));
      peers.entra.fail({ kind: "refuse", method: "POST", path: "fido2Methods", status: 500 });
      await connector.runCredentials();
      connector.advance(minutes(30));
      const before = await connector.load(requestId);

      peers.rfpr.resetRequests();
      peers.rfpr.fail({ kind: "refuse", status, times: 10 });
      const report = await connector.runCredentials("timer");
      expect(connector.events("enrollment_refused")).toHaveLength(1);
      expect(report).toMatchObject({ activated: 1 });
      const kept = ({ keys }: typeof before) => keys.slice(1).map(({ value }) => value);
      expect(kept(await connector.load(requestId))).toEqual(kept(before));
      expect(polls()).toBeLessThanOrEqual(2);
      peers.rfpr.clearFaults();
      await connector.runCredentials("timer");
      expect(connector.events("enrollment_refused")).toHaveLength(1);
      expect(await states()).toEqual(["complete", "processing", "processing"]);
    },
  );

  test("by being configured no more: says so and keeps it due", async () => {
    const { connector, requestId, states } = await waiting();
    await peers.rfpr.enroll(idAt(requestId));
    const none = { ENROLLMENT_SERVICE_API_BASE_URL: "", RFPR_API_BASE_URL: "" };
    const without = connector.anotherInstance({ settings: none });
    await without.runCredentials();
    expect(await states()).toEqual(["processing"]);
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
  });
});

describe("a mixed request rolls up over both", () => {
  type End = "active" | "failed" | "cancelled" | "open" | "partial";
  const ends: readonly [shipped: End, onSite: End, state: string][] = [
    ["active", "active", "complete"],
    ["open", "active", "started"],
    ["active", "open", "started"],
    ["active", "partial", "partial"],
    ["active", "failed", "partial"],
    ["active", "cancelled", "partial"],
    ["failed", "active", "partial"],
    ["cancelled", "active", "partial"],
    ["failed", "failed", "failed"],
    ["failed", "cancelled", "failed"],
    ["cancelled", "failed", "failed"],
    ["cancelled", "cancelled", "cancelled"],
  ];
  test.each(ends)("shipped %s, on site %s: %s", async (shipped, onSite, state) => {
    const connector = await testConnector(peers);
    const body = mixedBody([1], [authenticator(2)]);
    const { requestId, shipmentId = "" } = await connector.order(body);
    if (shipped === "open") await peers.delivery.control(shipmentId, { state: 101 });
    if (shipped === "failed")
      peers.entra.setUser(body.shipment.shipment_items[0]?.credentials[0]?.user_id ?? "", "unknown");
    if (shipped === "cancelled") {
      await peers.delivery.control(shipmentId, { delete: true });
      // The service knows others, so it means this one.
      const other = await connector.order();
      await peers.delivery.control(other.shipmentId ?? "", { state: 101 });
      for (let poll = 0; poll < 2; poll++) {
        await connector.runShipments();
        connector.advance(hours(12));
      }
    }
    const id = idAt(requestId);
    if (onSite === "active") await peers.rfpr.enroll(id);
    if (onSite === "partial") await peers.rfpr.enroll(id, { fails: [0] });
    if (onSite === "failed") peers.rfpr.control(id, { fail: "Broken" });
    if (onSite === "cancelled") peers.rfpr.control(id, { decline: "No" });
    for (const run of ["runCredentials", "runShipments", "runCredentials"] as const) {
      await connector[run]();
      connector.advance(hours(12));
    }
    const read = await connector.read(requestId);
    const response = (end: End) => ({ active: "complete", open: "processing" })[end as "active"] ?? end;
    expect([read.shipment?.shipment_items[0]?.state, read.authenticators?.[0]?.state, read.state]).toEqual([
      response(shipped),
      response(onSite),
      state,
    ]);
  });
});
