import { describe, expect, test } from "vitest";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { between, days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { withoutExpiry, withPort } from "../../../support/connector/changed-peers.ts";
import { everyIdpOfFile, pinIn } from "../../../support/connector/in-a-state.ts";
import {
  type AuthenticatorWish,
  authenticator,
  authenticatorsOf,
  idAt,
  onSiteBody,
  recordedCalls,
} from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  newUser,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const everyIdp = everyIdpOfFile(peers);
const polls = () => peers.rfpr.count("GET", /authenticator-requests/);

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
    expect(await connector.runCredentials()).toEqual({
      processed: 2,
      activated: 2,
      failed: 0,
      pending: 0,
      deferred: 0,
    });
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
    expect(peers.rfpr.opens(idAt(requestId), pinIn(mail?.text))).toBe(true);
  });

  test("has its responses stored as received, before the row names them", async () => {
    const written: string[] = [];
    const { connector, requestId } = await waiting([authenticator(3)], {
      ports: (context, clock) => ({
        ...withPort("requests", ({ save }) => ({
          save: (loaded, changes) => {
            if (changes.keys?.some(key => key.responses !== undefined)) written.push("row");
            return save(loaded, changes);
          },
        }))(context, clock),
        ...withPort("responses", ({ put }) => ({
          put: async (...args) => {
            const name = await put(...args);
            written.push("blob");
            return name;
          },
        }))(context, clock),
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
    expect([...(copy?.credentials ?? []), copy?.pinResponse ?? ""].filter(response => !jwe.test(response))).toEqual([]);
  });

  test("keeps the order of its credentials, however slow and fast their IdPs are", async () => {
    const { calls, fetch } = recordedCalls(peers);
    const connector = await testConnector(peers, {
      fetch,
      settings: everyIdp,
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
});

describe("an authenticator that waits", () => {
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
    const { connector, requestId, states } = await waiting(undefined, { ports: withoutExpiry });
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
    expect(connector.events("enrollment_poll_failed")).toMatchObject([{ keyId: "a-01" }]);
    peers.rfpr.clearFaults();
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
  });

  test.each<[string, (responses: readonly string[]) => unknown]>([
    ["none", () => undefined],
    ["null", () => null],
    ["an empty list", () => []],
    ["one of two", responses => responses.slice(0, 1)],
    ["one too many", responses => [...responses, null]],
    ["objects", responses => responses.map(jwe => ({ jwe }))],
  ])("because its completed enrollment has %s as responses: ends nothing, and is asked again", async (_, change) => {
    let isWrong = true;
    const { connector, requestId, states, credentials } = await waiting([authenticator(2)], {
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!isWrong || init?.method !== "GET" || !String(url).includes("authenticator-requests")) return response;
        const body = (await response.json()) as { readonly credential_responses: readonly string[] };
        return Response.json({ ...body, credential_responses: change(body.credential_responses) });
      },
    });
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    const error_message = expect.stringMatching(/^The enrollment could not be read: /);
    expect(await credentials()).toMatchObject(Array(2).fill({ state: "processing", error_message }));
    isWrong = false;
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await states()).toEqual(["complete"]);
  });

  test("because responses are missing: that is no failure of the service, and the run continues its calls", async () => {
    const { connector, requestId, credentials } = await waiting(
      Array.from({ length: 3 }, () => authenticator()),
      {
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (init?.method !== "GET" || !String(url).includes("authenticator-requests")) return response;
          return Response.json({ ...((await response.json()) as object), credential_responses: [] });
        },
      },
    );
    for (const position of [0, 1, 2]) await peers.rfpr.enroll(idAt(requestId, position));
    await connector.runCredentials();
    const cause = { message: "Number of credentials: 1; number of their responses: 0." };
    expect(connector.events("enrollment_poll_failed")).toMatchObject(Array(3).fill({ error: { cause } }));
    expect(connector.events("peer_stopped")).toEqual([]);
    expect(await credentials()).toMatchObject([{ state: "processing", error_message: expect.any(String) }]);
  });

  test("by 502 with Retry-After: it is not asked again before that time, not even on demand", async () => {
    const failure = new PeerFailure("pre-registration API", "get", "unanswered", {
      status: 502,
      retryAfterSeconds: 7200,
    });
    const { connector, requestId } = await waiting(undefined, {
      ports: withPort("rfpr", () => ({ get: () => Promise.reject(failure) })),
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
      const kept = ({ keys }: typeof before) => keys.slice(1);
      expect(kept(await connector.load(requestId))).toEqual(kept(before));
      expect(polls()).toBeLessThanOrEqual(2);
      peers.rfpr.clearFaults();
      await connector.runCredentials("timer");
      expect(connector.events("enrollment_refused")).toHaveLength(1);
      expect(await states()).toEqual(["complete", "processing", "processing"]);
    },
  );

  test("by 403 to a deletion: the polls of the run go on", async () => {
    const { connector, requestId, states } = await waiting();
    await peers.rfpr.enroll(idAt(requestId));
    peers.rfpr.fail({ kind: "refuse", method: "PUT", status: 400 });
    peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 403, times: 10 });
    await refusalOf(connector.order(onSiteBody()));
    connector.advance(minutes(5));
    peers.rfpr.resetRequests();
    await connector.runCredentials("timer");
    expect(peers.rfpr.count("DELETE", /./)).toBeGreaterThan(0);
    expect(connector.events("enrollment_refused")).toEqual([]);
    expect(await states()).toEqual(["complete"]);
  });

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
