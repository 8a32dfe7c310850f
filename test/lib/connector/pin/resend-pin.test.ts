import { describe, expect, it } from "vitest";
import type { Credential, Revocation } from "../../../../lib/connector/model/credential.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { leaseElsewhere } from "../../../support/connector/in-a-state.ts";
import { authenticator, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** A request with this many keys, all active and mailed. */
async function mailed(connector: TestConnector, keys = 1): Promise<{ requestId: string; to: string }> {
  const body = orderBody(Array(keys).fill(1));
  const { requestId } = await connector.orderAndRun(body);
  return { requestId, to: body.recipient.email };
}

const unconfirmed = "The mail service did not confirm the PIN email";
const lookedUp = "A job looks it up before it sends another one.";
const hour = "2026-01-31T10:00:00.000Z";
const mailsTo = (to: string) => peers.mail.mails().filter(mail => mail.to.includes(to));

describe("resend-pin (specification section 4)", () => {
  it("mails the PIN of every key again, under a number of its own", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector, 2);
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 2, unsent: [] });
    const mails = mailsTo(to);
    expect(mails).toHaveLength(4);
    expect(connector.events("pin_resent")).toMatchObject([{ credentialRequestId: requestId, sent: 2, unsent: 0 }]);
    expect(new Set(mails.map(({ operationId }) => operationId)).size).toBe(4);
    expect(new Set(mails.map(({ text }) => text)).size).toBe(2);
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "sent", number: 2 });
    expect(await connector.queue("key")).toEqual([]);
  });

  it("answers 404 for an unknown id", async () => {
    const connector = await testConnector(peers);
    await expect(resendPin("unknown", connector.context)).rejects.toMatchObject({ kind: "not_found" });
  });

  it("answers 409 when no credential is active yet, and changes nothing", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order();
    const before = await connector.load(requestId);
    const message = "There is no PIN to send: no credential is active yet (s-01-001).";
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({ kind: "conflict", message });
    expect(await connector.load(requestId)).toEqual(before);
  });

  const ended =
    (change: Partial<Credential>) =>
    (key: SecurityKey): SecurityKey => ({ ...key, credentials: key.credentials.map(each => ({ ...each, ...change })) });
  const noMail = { state: "none", number: 1 } as const;
  const revocation = (state: Revocation["state"]) =>
    ended({ revocation: { state, reason: "lost", requestedAt: hour, retry: { attempts: 0, nextAt: hour } } });

  it.each<[string, (key: SecurityKey) => SecurityKey]>([
    ["its credentials are revoked", revocation("revoked")],
    ["its credentials are being revoked", revocation("revoking")],
    ["its credentials are to be revoked", key => revocation("revoke_failed")({ ...key, mail: noMail })],
    ["its credentials have failed", ended({ state: "failed" })],
    ["its credentials are cancelled", ended({ state: "cancelled" })],
    ["its PIN is not sent by email", ({ pinRequest: _, ...key }) => key],
  ])("answers 409 because %s, for each key that has no other reason, and sends nothing", async (why, change) => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector, 2);
    const [one, two] = [await connector.keyRow(requestId), await connector.keyRow(requestId, "s-02-001")];
    const refused = ended({ state: "activation_pending", refusal: { at: hour, reason: "policy" } });
    const keys = [change(one), refused(two)];
    await connector.context.requests.save(await connector.load(requestId), { keys });
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({
      kind: "conflict",
      message: `There is no PIN to send: ${why} (s-01-001); no credential is active yet (s-02-001).`,
    });
    expect(mailsTo(to)).toHaveLength(2);
  });

  it("leaves out an address that PIN_MAIL_DOMAINS no longer allows", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector);
    const bounded = connector.anotherInstance({ settings: { PIN_MAIL_DOMAINS: "example.org" } });
    const before = await connector.load(requestId);
    const refusal = resendPin(requestId, bounded.context);
    await expect(refusal).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/PIN_MAIL_DOMAINS/),
      retryAfterSeconds: undefined,
    });
    expect(await connector.load(requestId)).toEqual(before);
    expect(mailsTo(to)).toHaveLength(1);

    const request = { ...before.request, emailsTo: [to, "ada@example.org"] };
    await connector.context.requests.save(before, { request });
    expect(await resendPin(requestId, bounded.context)).toEqual({ sent: 1, unsent: [] });
    expect(mailsTo("ada@example.org").map(mail => mail.to)).toEqual([["ada@example.org"]]);
    const { shipment } = await connector.read(requestId);
    expect(shipment?.shipment_items[0]?.credentials[0]?.error_message).toMatch(/ example\.com\b/);
  });

  /** Has another host lease the request; the function returned ends its work. */
  async function leasedElsewhere(connector: TestConnector, requestId: string): Promise<() => Promise<void>> {
    await leaseElsewhere(connector, requestId);
    return async () => {
      const loaded = await connector.load(requestId);
      const keys = loaded.keys.map(({ lease: _, ...key }) => key);
      await connector.context.requests.save(loaded, { keys });
    };
  }

  it("responds 409 while a job has the lease of the key, after a wait of 2 seconds: Retry-After is 5 seconds, or the rest of a lease that a crash has left", async () => {
    const waits: number[] = [];
    const connector = await testConnector(peers, {
      ports: () => ({ sleep: async ms => void waits.push(ms) }),
    });
    const { requestId, to } = await mailed(connector);
    await leasedElsewhere(connector, requestId);
    waits.length = 0;
    const { result, ...calls } = await connector.counted(() =>
      resendPin(requestId, connector.context).catch((error: unknown) => error),
    );
    expect(result).toMatchObject({ kind: "conflict", retryAfterSeconds: 5 });
    expect(waits.reduce((sum, ms) => sum + ms)).toBe(seconds(2));
    expect(calls.total).toBe(1 + waits.length);
    // No call of a job takes longer than that of the delivery service.
    connector.advance(connector.context.intervals.deliveryCallMs + 1);
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({ retryAfterSeconds: 120 });
    expect(mailsTo(to)).toHaveLength(1);
  });

  it("waits for the job of another host that ends meanwhile, and mails then", async () => {
    let end: (() => Promise<void>) | undefined;
    let waits = 0;
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector);
    end = await leasedElsewhere(connector, requestId);
    const { context } = connector.anotherInstance({
      ports: () => ({
        sleep: async () => {
          if (++waits === 2) await end?.();
        },
      }),
    });
    expect(await resendPin(requestId, context)).toEqual({ sent: 1, unsent: [] });
    expect(mailsTo(to)).toHaveLength(2);
  });

  it("skips a key that another run has leased since the resend began", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector, 2);
    const taken = connector.anotherInstance({
      ports: withPort("delivery", ({ getShipment }) => ({
        getShipment: async id => {
          await leaseElsewhere(connector, requestId);
          return getShipment(id);
        },
      })),
    });
    await expect(resendPin(requestId, taken.context)).rejects.toMatchObject({ kind: "conflict", retryAfterSeconds: 5 });
    expect(mailsTo(to)).toHaveLength(2);
    expect((await connector.keyRow(requestId, "s-02-001")).lease?.owner).toBe("another");
  });

  it("answers 429 with Retry-After when a key's PIN was resent 5 times, until the hour is over", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector);
    await resendPin(requestId, connector.context);
    connector.advance(minutes(10));
    for (let more = 0; more < 4; more++) await resendPin(requestId, connector.context);
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({
      kind: "throttled",
      retryAfterSeconds: 3000,
    });
    expect(mailsTo(to)).toHaveLength(6);
    connector.advance(minutes(51));
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 1, unsent: [] });
  });

  it("leaves out a key that has reached its limit, and names it", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector, 2);
    const { mail, ...key } = await connector.keyRow(requestId);
    const keys = [{ ...key, mail: { ...mail, resentAt: Array(5).fill(connector.now()) } }];
    await connector.context.requests.save(await connector.load(requestId), { keys });
    expect(await resendPin(requestId, connector.context)).toEqual({
      sent: 1,
      unsent: [{ keyId: "s-01-001", reason: "The PIN was resent too often." }],
    });
    expect(mailsTo(to)).toHaveLength(3);
  });

  it("answers 429 with the earliest Retry-After when every key has reached its limit", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector, 2);
    const loaded = await connector.load(requestId);
    const [later, earlier] = [connector.now(), plus(connector.now(), -minutes(20))];
    const keys = loaded.keys.map(({ mail, ...key }, index) => {
      return { ...key, mail: { ...mail, resentAt: Array(5).fill(index === 0 ? later : earlier) } };
    });
    await connector.context.requests.save(loaded, { keys });
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({
      kind: "throttled",
      retryAfterSeconds: 2400,
    });
  });

  it("works from the copy when the peer has purged its response, and answers 409 when both are gone", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector);
    const { delivery } = await connector.requestRow(requestId);
    await peers.delivery.control(delivery?.shipment?.id ?? "", { purge: true });
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 1, unsent: [] });
    connector.advance(hours(15 * 24));
    expect(await connector.runCleanUp(0)).toMatchObject({ purged: 1 });
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({
      kind: "conflict",
      message: "No PIN response is available.",
    });
  });

  it.each([
    ["the signing keys", { path: "sign.jwks" }],
    ["the delivery service, of which no copy is kept,", { method: "GET", path: "/v1/fpr/shipments/" }],
  ])("answers 503 with Retry-After while %s cannot be read, and changes nothing", async (_, where) => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector);
    connector.advance(hours(15 * 24));
    await connector.runCleanUp(0);
    const before = await connector.load(requestId);
    peers.delivery.fail({ kind: "refuse", status: 500, times: 100, ...where });
    const { context } = connector.anotherInstance();
    await expect(resendPin(requestId, context)).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 30 });
    expect(await connector.load(requestId)).toEqual(before);
    peers.delivery.clearFaults();
    expect(await resendPin(requestId, context)).toEqual({ sent: 1, unsent: [] });
  });

  it.each<[string, Parameters<typeof peers.mail.fail>[0], { reason: string; counts: number; waitSeconds: number }]>([
    [
      "refuses it",
      { kind: "refuse", status: 400 },
      { reason: "The PIN email was not accepted: Refused. A job tries again.", counts: 0, waitSeconds: 60 },
    ],
    [
      "rejects the connector",
      { kind: "refuse", status: 401 },
      { reason: "The PIN email was not accepted: Refused. A job tries again.", counts: 0, waitSeconds: 60 },
    ],
    [
      "throttles",
      { kind: "throttle", retryAfter: 1500 },
      { reason: "The mail service is temporarily unavailable. A job tries again.", counts: 0, waitSeconds: 1500 },
    ],
    [
      "fails",
      { kind: "refuse", status: 500 },
      { reason: `${unconfirmed}: Refused. ${lookedUp}`, counts: 1, waitSeconds: 60 },
    ],
    [
      "answers 409, as for a send in progress",
      { kind: "refuse", status: 409 },
      { reason: `${unconfirmed}: Refused. ${lookedUp}`, counts: 1, waitSeconds: 60 },
    ],
    [
      "takes it and gives no answer",
      { kind: "drop", phase: "after" },
      { reason: `${unconfirmed}. ${lookedUp}`, counts: 1, waitSeconds: 60 },
    ],
  ])(
    "names the key if the mail service %s: a job sends the email once, which counts in the limit only if it may have been sent",
    async (_, rule, { reason, counts, waitSeconds }) => {
      const connector = await testConnector(peers);
      const { requestId, to } = await mailed(connector);
      peers.mail.fail({ ...rule, method: "POST" });
      expect(await resendPin(requestId, connector.context)).toEqual({
        sent: 0,
        unsent: [{ keyId: "s-01-001", reason }],
      });
      const { mail } = await connector.keyRow(requestId);
      expect(mail.state).toBe("due");
      expect(mail.resentAt).toHaveLength(counts);
      for (const waitMs of [seconds(waitSeconds), minutes(1)]) {
        connector.advance(waitMs);
        await connector.runCredentials("timer");
      }
      expect((await connector.keyRow(requestId)).mail.state).toBe("sent");
      expect(mailsTo(to)).toHaveLength(2);
    },
  );

  it("names the key if its lease is lost after the send: the job looks the email up", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector);
    const losing = connector.anotherInstance({
      ports: withPort("mailer", ({ send }) => ({
        send: async mail => {
          await send(mail);
          await leaseElsewhere(connector, requestId);
        },
      })),
    });
    expect(await resendPin(requestId, losing.context)).toEqual({
      sent: 0,
      unsent: [{ keyId: "s-01-001", reason: `The email may have been sent. ${lookedUp}` }],
    });
    expect(mailsTo(to)).toHaveLength(2);
  });

  it("names the key if the mail service took the email and then failed: it counts in the limit", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector);
    peers.mail.outcome({ status: "Failed", error: { code: "EmailDropped", message: "Dropped" } });
    const reason = "The mail service could not deliver the PIN email: EmailDropped. A job tries again.";
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 0, unsent: [{ keyId: "s-01-001", reason }] });
    expect((await connector.keyRow(requestId)).mail.resentAt).toHaveLength(1);
  });

  it("leaves a key to the job whose email is due while the mail service throttles", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector);
    peers.mail.fail({ kind: "throttle", retryAfter: 90 });
    await resendPin(requestId, connector.context);
    const reason = "The mail service is temporarily unavailable. A job tries again.";
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 0, unsent: [{ keyId: "s-01-001", reason }] });
    connector.advance(minutes(2));
    await connector.runCredentials();
    expect(mailsTo(to)).toHaveLength(2);
  });

  it("names a key whose email the mail service has taken and not sent yet", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector);
    peers.mail.outcome({ runningPolls: 4 });
    expect(await resendPin(requestId, connector.context)).toEqual({
      sent: 0,
      unsent: [
        {
          keyId: "s-01-001",
          reason: "The mail service has accepted the email, and has not sent it yet. A job looks it up.",
        },
      ],
    });
    expect((await connector.keyRow(requestId)).mail.resentAt).toHaveLength(1);
  });

  it("ends when the mail service throttles, names the keys whose email was not sent, and leaves those after it and their limits as they were", async () => {
    const connector = await testConnector(peers);
    const { requestId, to } = await mailed(connector, 3);
    const before = (await connector.load(requestId)).keys;
    peers.mail.resetRequests();
    const throttled = connector.anotherInstance({
      ports: withPort("mailer", ({ status }) => ({
        status: id => {
          peers.mail.fail({ kind: "throttle", method: "POST", retryAfter: 600, times: 10 });
          return status(id);
        },
      })),
    });
    const reason = "The mail service is temporarily unavailable.";
    expect(await resendPin(requestId, throttled.context)).toEqual({
      sent: 1,
      unsent: [
        { keyId: "s-02-001", reason: `${reason} A job tries again.` },
        { keyId: "s-03-001", reason },
      ],
    });
    expect(peers.mail.count("POST", /emails:send$/)).toBe(2);
    const [first, second, third] = (await connector.load(requestId)).keys;
    expect(first?.mail).toMatchObject({ state: "sent", number: 2, resentAt: [connector.now()] });
    expect(second?.mail).toMatchObject({
      state: "due",
      resentAt: [],
      retry: { notBefore: plus(connector.now(), seconds(600)) },
    });
    expect(third).toEqual(before[2]);
    expect(mailsTo(to)).toHaveLength(4);
  });

  it("calls the delivery service once for all keys of a shipment", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await mailed(connector, 3);
    peers.delivery.resetRequests();
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 3, unsent: [] });
    expect(peers.delivery.count("GET", /^\/v1\/fpr\/shipments\//)).toBe(1);
  });

  it("ends with its time, and leaves as it was what it did not come to", async () => {
    const connector = await testConnector(peers, {
      ports: withPort("rfpr", ({ get }, clock) => ({
        get: id => {
          clock.advance(seconds(40));
          return get(id);
        },
      })),
    });
    const body = onSiteBody([authenticator(), authenticator(), authenticator()]);
    const { requestId } = await connector.order(body);
    for (const position of [0, 1, 2]) await peers.rfpr.enroll(idAt(requestId, position));
    for (let run = 0; run < 3; run++) await connector.runCredentials();
    expect(mailsTo(body.recipient.email)).toHaveLength(3);
    // Each key takes 40 seconds of 100.
    expect(await resendPin(requestId, connector.context)).toEqual({
      sent: 2,
      unsent: [{ keyId: "a-03", reason: "Timed out before all PINs were sent." }],
    });
    expect(mailsTo(body.recipient.email)).toHaveLength(5);
    expect((await connector.keyRow(requestId, "a-03")).mail).toMatchObject({ state: "sent", number: 1 });
  });

  it("mails only shipped keys, or only on-site keys, if that is requested", async () => {
    const connector = await testConnector(peers);
    const body = mixedBody([1], [authenticator()]);
    const { requestId } = await connector.order(body);
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runJobs();
    expect(await resendPin(requestId, connector.context, "shipped")).toEqual({ sent: 1, unsent: [] });
    expect((await connector.keyRow(requestId, "s-01-001")).mail.number).toBe(2);
    expect((await connector.keyRow(requestId, "a-01")).mail.number).toBe(1);
  });
});
