import { describe, expect, test } from "vitest";
import { readEvents } from "../../../../lib/connector/events/read-events.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { operationId } from "../../../../lib/connector/pin/send-pin-mail.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes, plus, seconds } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/peer.ts";
import { idOfUser } from "../../../../local/peers/uuid-of.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { usersOf } from "../../../support/connector/in-a-state.ts";
import {
  type ConnectorOptions,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const mailsTo = (address: string) => peers.mail.mails().filter(({ to }) => to.includes(address));
const sends = () => peers.mail.count("POST", /emails:send$/);
const lookUps = () => peers.mail.count("GET", /operations/);
const fetches = () => peers.delivery.count("GET", /shipments\/./);
const failing = (rule: FaultRule) => peers.mail.fail({ method: "POST", ...rule });

interface Ready {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly shipmentId: string;
  readonly to: string;
  readonly users: readonly string[];
  /** As read, of the first credential of the first key. */
  errorMessage(): Promise<string | undefined>;
}

/** A request whose responses have come: what follows is activation and mail. */
async function ready(options: ConnectorOptions = {}, body: Body = orderBody()): Promise<Ready> {
  const connector = await testConnector(peers, options);
  const { requestId, shipmentId = "" } = await connector.orderAndPoll(body);
  return {
    connector,
    requestId,
    shipmentId,
    to: body.enrollment_contacts.emails_to[0],
    users: usersOf(body),
    errorMessage: async () =>
      (await connector.read(requestId)).shipment?.shipment_items[0]?.credentials[0]?.error_message,
  };
}

/** Each send succeeds, and then throws. */
const sentThen = (error: Error) =>
  withPort("mailer", ({ send }) => ({
    send: async mail => {
      await send(mail);
      throw error;
    },
  }));
const withoutCopies = { ports: withPort("responses", () => ({ get: async () => undefined })) };

/** Has the host call the delivery service no more for ten minutes, as after a 429. */
const pauseDelivery = ({ context }: Pick<TestConnector, "context">): void => {
  const throttled = new PeerFailure("delivery service", "shipment", "throttled", {
    status: 429,
    retryAfterSeconds: 600,
  });
  context.peerLimits.of("delivery service").pauseAfter(throttled);
};

/** The keys as their maker knows them. */
const madeKeys = async (shipmentId: string) =>
  (await peers.delivery.shipments()).find(({ id }) => id === shipmentId)?.keys ?? [];

describe("the PIN email", () => {
  test("is one a key, one message to all contacts, with serial, name, users and PIN, which is not in the subject", async () => {
    const to = [newUser(), newUser(), newUser()];
    const several = newUser();
    const body = altered(orderBody([2, 2]), {
      "enrollment_contacts.emails_to": to,
      "shipment.shipment_items[1].credentials[0].user_id": several,
      "shipment.shipment_items[1].credentials[1]": { idp_id: "another", user_id: several },
    });
    const { connector, requestId, shipmentId, users } = await ready(
      { ports: ({ idps }) => ({ idps: { ...idps, get: () => idps.get(idps.defaultId) } }) },
      body,
    );
    const named = [users.slice(0, 2).join(", "), `User: ${several}`];
    await connector.runCredentials();
    const mails = mailsTo(to[0] ?? "");
    const keys = await madeKeys(shipmentId);
    expect(mails).toHaveLength(2);
    for (const [index, key] of keys.entries()) {
      const mail = mails.find(({ text }) => text?.includes(key.serial));
      expect(mail?.to).toEqual(to);
      for (const value of [key.pin ?? "", `Key ${index + 1}`, key.serial, users[2 * index] ?? ""]) {
        expect(mail?.text).toContain(value);
        expect(mail?.html).toContain(value);
      }
      expect(mail?.text).toContain(`${named[index]}\r\n`);
      expect(mail?.subject).toContain(key.serial);
      expect(mail?.subject).not.toContain(key.pin);
    }
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    await connector.runCredentials();
    await connector.runShipments();
    expect(mailsTo(to[0] ?? "")).toHaveLength(2);
  });

  test("is not for a key without pin_request, which has no PIN at all", async () => {
    const body = altered(orderBody([1, 1]), { "shipment.shipment_items[0].pin_request": undefined });
    const { connector, requestId, shipmentId, to } = await ready({}, body);
    expect((await madeKeys(shipmentId)).map(({ pin }) => typeof pin)).toEqual(["undefined", "string"]);
    const key = await connector.keyRow(requestId);
    expect(key.pinResponseKey).toBeUndefined();
    expect(key.mail.state).toBe("none");
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(mailsTo(to)).toHaveLength(1);
    expect(mailsTo(to)[0]?.text).toContain("Key 2");
  });

  test("is due when the first credential of the key is active, and names all that may still become active", async () => {
    const body = orderBody([3]);
    const { connector, requestId, to, users } = await ready({}, body);
    const [waiting = "", gone = "", good = ""] = users;
    peers.entra.setUser(gone, "unknown");
    peers.entra.fail({ kind: "refuse", status: 500, method: "POST", path: idOfUser(waiting) });
    await connector.runCredentials();
    expect(mailsTo(to)).toHaveLength(1);
    expect(mailsTo(to)[0]?.text).toContain(`${waiting}, ${good}`);
    expect(mailsTo(to)[0]?.text).not.toContain(gone);
    connector.advance(seconds(600));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "partial" });
    expect(mailsTo(to)).toHaveLength(1);
  });

  test("is not sent where no credential of the key becomes active", async () => {
    const { connector, requestId, to, users } = await ready();
    peers.entra.setUser(users[0] ?? "", "blocked");
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect((await connector.keyRow(requestId)).mail.state).toBe("none");
    expect(mailsTo(to)).toEqual([]);
  });

  test.each([
    ["has purged it", ({ shipmentId }: Ready) => peers.delivery.control(shipmentId, { purge: true })],
    ["has lost the shipment", ({ shipmentId }: Ready) => peers.delivery.control(shipmentId, { delete: true })],
    ["has asked the host to wait", async ({ connector }: Ready) => pauseDelivery(connector)],
    // jobs/failures/mails.test.ts has peers that fail, and responses that do not open.
  ])("is made from the kept copy where the peer %s", async (_, prepare) => {
    const one = await ready();
    const [key] = await madeKeys(one.shipmentId);
    await prepare(one);
    await one.connector.runCredentials();
    expect(mailsTo(one.to)).toHaveLength(1);
    expect(mailsTo(one.to)[0]?.text).toContain(key?.pin);
  });

  test("waits where its peer has asked the host to wait and there is no kept copy", async () => {
    const { connector, requestId } = await ready();
    peers.mail.fail({ kind: "refuse", method: "POST", status: 400 });
    await connector.runCredentials();
    const later = connector.anotherInstance(withoutCopies);
    pauseDelivery(later);
    const { mail } = await connector.keyRow(requestId);
    peers.delivery.resetRequests();
    expect(await later.runCredentials()).toMatchObject({ deferred: 1 });
    expect((await connector.keyRow(requestId)).mail).toEqual(mail);
    expect(fetches()).toBe(0);
  });

  test.each([
    ["the delivery service throttles", "shipments/"],
    ["the signing keys are throttled", "sign"],
  ])("waits for the Retry-After of its PIN's peer where %s", async (_, path) => {
    const { connector, requestId } = await ready();
    const later = connector.anotherInstance(withoutCopies);
    peers.mail.fail({ kind: "refuse", method: "POST", status: 400 });
    await connector.runCredentials();
    peers.delivery.fail({ kind: "throttle", path, retryAfter: 600, times: 10 });
    await later.runCredentials();
    if (path === "shipments/") expect(later.events("pin_fetch_failed")).toMatchObject([{ keyId: "s-01-001" }]);
    const { mail } = await connector.keyRow(requestId);
    expect(mail.retry?.notBefore).toBe(plus(connector.now(), seconds(600)));
  });

  test("may go to the domains of PIN_MAIL_DOMAINS only", async () => {
    const connector = await testConnector(peers, { settings: { PIN_MAIL_DOMAINS: "Example.org, keys.example" } });
    const to = ["a@example.org", "b@example.com", "c@EXAMPLE.ORG", "d@sub.example.org", "e@keys.example"];
    const body = altered(orderBody(), { "enrollment_contacts.emails_to": to });
    expect(await refusalOf(connector.order(body))).toMatchObject({
      status: 400,
      body: {
        error_code: "api_error",
        error_data: {
          error_type: "validation",
          fields: [{ path: "enrollment_contacts.emails_to[1]" }, { path: "enrollment_contacts.emails_to[3]" }],
        },
      },
    });
    expect(await connector.queue("reconcile")).toEqual([]);
    await connector.order(altered(body, { "enrollment_contacts.emails_to": [to[0], to[2], to[4]] }));
  });
});

describe("PIN_MAIL_DOMAINS at the time of a send", () => {
  const allowed = () => `${newUser().split("@")[0]}@example.org`;
  const bounded = { settings: { PIN_MAIL_DOMAINS: "example.org" } };

  test("leaves out an address that it no longer allows, and names its domain alone in error_message although the others were mailed", async () => {
    const [kept, gone] = [allowed(), newUser()];
    const { connector, requestId, errorMessage } = await ready(
      {},
      altered(orderBody(), { "enrollment_contacts.emails_to": [kept, gone] }),
    );
    const later = connector.anotherInstance(bounded);
    await later.runCredentials();
    expect(mailsTo(kept).map(({ to }) => to)).toEqual([[kept]]);
    expect(mailsTo(gone)).toEqual([]);
    expect(await later.keyRow(requestId)).toMatchObject({ mail: { state: "sent", leftOut: [gone] } });
    expect(await errorMessage()).toBe("PIN_MAIL_DOMAINS does not allow: example.com.");
    expect(later.events("pin_mail_addresses_left_out")).toMatchObject([{ keyId: "s-01-001", count: 1, of: 2 }]);
    expect([...connector.lines, ...later.lines].join()).not.toContain(gone);
  });

  test("is that of the send that went out, also where it is looked up after another change", async () => {
    const [kept, gone] = [allowed(), newUser()];
    const { connector, errorMessage } = await ready(
      {},
      altered(orderBody(), { "enrollment_contacts.emails_to": [kept, gone] }),
    );
    failing({ kind: "drop", phase: "after" });
    await connector.anotherInstance(bounded).runCredentials();
    expect(await errorMessage()).toBe(
      "The mail service did not confirm the PIN email. PIN_MAIL_DOMAINS does not allow: example.com.",
    );
    for (const _ of [1, 2]) {
      connector.advance(minutes(1));
      await connector.runCredentials("timer");
    }
    expect(await errorMessage()).toBe("PIN_MAIL_DOMAINS does not allow: example.com.");
  });

  test("keeps the mail due with back-off where it allows no address, until RFPR_RETRY_NUMBER_DAYS are over", async () => {
    const { connector, requestId, to, errorMessage } = await ready({ settings: { RFPR_RETRY_NUMBER_DAYS: "1" } });
    const later = connector.anotherInstance(bounded);
    peers.delivery.resetRequests();
    for (let run = 0; run < 4; run++) {
      await later.runCredentials("timer");
      expect(await later.keyRow(requestId)).toMatchObject({ mail: { state: "due", retry: { attempts: run + 1 } } });
      expect(await later.read(requestId)).toMatchObject({ state: "complete" });
      expect(await errorMessage()).toBe("No PIN email was sent. PIN_MAIL_DOMAINS does not allow: example.com.");
      later.advance(hours(1));
    }
    expect([sends(), fetches()]).toEqual([0, 0]);
    later.advance(days(1));
    await later.runCredentials("timer");
    expect((await later.keyRow(requestId)).mail.state).toBe("given_up");
    expect(await errorMessage()).toContain("PIN_MAIL_DOMAINS does not allow: example.com.");
    expect(await later.queue("key")).toEqual([]);
    expect(later.events("pin_mail_given_up")).toHaveLength(1);
    expect(later.lines.join()).not.toContain(to);
  });

  test("that allows the addresses again lets the mail that is due go out", async () => {
    const { connector, to, errorMessage } = await ready();
    await connector.anotherInstance(bounded).runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(mailsTo(to)).toHaveLength(1);
    expect(await errorMessage()).toBeUndefined();
  });
});

describe("a mail service that is throttling", () => {
  test("stops mailing for the run, which stays due at Retry-After and is no failure", async () => {
    const { connector, requestId, to, errorMessage } = await ready({}, orderBody([1, 1, 1]));
    failing({ kind: "throttle", retryAfter: 120 });
    await connector.runCredentials();
    expect(sends()).toBe(1);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await errorMessage()).toBeUndefined();
    const [throttled, ...others] = (await connector.load(requestId)).keys.map(key => key.mail);
    const retry = { attempts: 0, nextAt: plus(connector.now(), seconds(120)), notBefore: expect.any(String) };
    expect(throttled).toMatchObject({ state: "due", retry });
    for (const mail of others)
      expect(mail).toMatchObject({ state: "due", retry: { attempts: 0, nextAt: connector.now() } });

    connector.advance(seconds(120) - 1);
    await connector.runCredentials("on_demand");
    expect(sends()).toBe(1);
    connector.advance(1);
    await connector.runCredentials("timer");
    expect(mailsTo(to)).toHaveLength(3);
    expect(sends()).toBe(4);
    expect(lookUps()).toBe(6);
  });
});

describe("a PIN email that is refused", () => {
  test.each([
    [404, "DomainNotLinked"],
    [401, "Denied"],
    [400, "InvalidSenderUserName"],
  ])("with %d %s has the code in error_message and log", async (status, code) => {
    const { connector, requestId, to, errorMessage } = await ready();
    failing({ kind: "refuse", status, body: { error: { code, message: `about ${to}` } } });
    await connector.runCredentials();
    expect(await errorMessage()).toBe(`The PIN email was not accepted: ${code}.`);
    expect(connector.events("mail_failed")).toMatchObject([{ keyId: "s-01-001", error: { code } }]);
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "due", errorCode: code });
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect((await connector.keyRow(requestId)).mail.errorCode).toBeUndefined();
    expect(mailsTo(to)).toHaveLength(1);
    expect(connector.events("pin_mail_sent")).toMatchObject([{ keyId: "s-01-001" }]);
    expect(peers.entra.count("POST", /fido2Methods$/)).toBe(1);
    expect(connector.lines.join()).not.toContain(to);
  });

  test("has no code that is not a word in error_message and log", async () => {
    const { connector, to, errorMessage } = await ready();
    failing({ kind: "refuse", status: 404, body: { error: { code: to, message: "" } } });
    await connector.runCredentials();
    expect(await errorMessage()).toBe("The mail service did not confirm the PIN email.");
    expect(connector.lines.join()).not.toContain(to);
  });
});

describe("a PIN email to suppressed addresses", () => {
  const withSink: ConnectorOptions = {
    settings: { EVENT_SINK_URLS: "https://events.example/hook" },
    ports: () => ({ sendEventsAfterJob: async () => {} }),
  };
  const lastEvent = async ({ connector: { context }, requestId }: Ready) =>
    readEvents(await context.events.load(requestId)).at(-1);

  test("is given up at once with the code in message, log and event, and not sent again by itself", async () => {
    const body = orderBody();
    for (const address of body.enrollment_contacts.emails_to) peers.mail.suppressed.add(address);
    const one = await ready(withSink, body);
    const { connector, requestId, errorMessage } = one;
    for (let day = 0; day < 14; day++) {
      await connector.runCredentials("timer");
      connector.advance(days(1));
    }
    expect(sends()).toBe(1);
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "given_up", number: 1 });
    expect(await errorMessage()).toMatch(/EmailDroppedAllRecipientsSuppressed.*resend the PIN/);
    const code = "EmailDroppedAllRecipientsSuppressed";
    expect(connector.events("mail_failed")).toMatchObject([{ keyId: "s-01-001", error: { code } }]);
    expect(connector.events("pin_mail_given_up")).toMatchObject([{ keyId: "s-01-001", errorCode: code }]);
    expect(await lastEvent(one)).toMatchObject({
      type: "fido-connector.pin_mail.given_up",
      data: { mail: 1, error_code: code },
    });
  });

  test("is given up also where the mail service refuses it at once", async () => {
    const { connector, requestId } = await ready();
    failing({ kind: "refuse", status: 400, body: { error: { code: "EmailDroppedAllRecipientsSuppressed" } } });
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).mail.state).toBe("given_up");
  });

  test("goes out by a resend until RFPR_RETRY_NUMBER_DAYS after it was given up, also if the peer has purged the PIN", async () => {
    const to = newUser();
    peers.mail.suppressed.add(to);
    const one = await ready({}, altered(orderBody(), { "enrollment_contacts.emails_to": [to] }));
    const { connector, requestId, errorMessage } = one;
    await connector.runCredentials();
    await peers.delivery.control(one.shipmentId, { purge: true });
    const [key] = await madeKeys(one.shipmentId);
    connector.advance(days(13));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0, purged: 0 });
    await expect(resendPin(requestId, connector.context)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/Correct the mailbox, then resend the PIN\.$/),
      retryAfterSeconds: undefined,
    });
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "given_up", number: 2 });
    peers.mail.suppressed.delete(to);
    connector.advance(days(13));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0, purged: 0 });
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 1, unsent: [] });
    expect(mailsTo(to)[0]?.text).toContain(key?.pin);
    expect(await errorMessage()).toBeUndefined();
    connector.advance(days(14));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
  });
});

describe("a PIN email is given up RFPR_RETRY_NUMBER_DAYS after it was due, so that clean-up can delete the request", () => {
  const noAnswer = { kind: "drop", method: "POST", phase: "after" } as const;
  test.each<[string, () => void, string | undefined, number]>([
    [
      "if it is refused",
      () => failing({ kind: "refuse", status: 400, times: 1000 }),
      "The PIN email was not accepted: Refused.",
      0,
    ],
    [
      "if it cannot be looked up",
      () => {
        peers.mail.fail(noAnswer);
        peers.mail.fail({ kind: "refuse", status: 403, method: "GET", times: 100 });
      },
      "The mail service refused the look-up of the PIN email: Refused.",
      1,
    ],
    ["if it is under way for ever", () => peers.mail.outcome({ runningPolls: 1000 }), undefined, 1],
  ])("%s", async (_, prepare, message, taken) => {
    const { connector, requestId, to, errorMessage } = await ready();
    prepare();
    await connector.runCredentials();
    connector.advance(days(14));
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).mail.state).toBe("due");
    expect(connector.events("pin_mail_given_up")).toEqual([]);
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "given_up", number: 1 });
    expect(await errorMessage()).toBe(message);
    if (message?.includes("look-up"))
      expect(connector.events("mail_look_up_failed")[0]).toMatchObject({ keyId: "s-01-001" });
    expect(connector.events("pin_mail_given_up")).toMatchObject([
      { credentialRequestId: requestId, keyId: "s-01-001" },
    ]);
    expect(mailsTo(to)).toHaveLength(taken);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await connector.queue("key")).toEqual([]);
    connector.advance(days(1));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
  });
});

describe("a PIN email that is not answered", () => {
  test("but accepted is looked up once if the look-up fails, and again after a minute", async () => {
    let lookUps = 0;
    const { connector, requestId, to } = await ready({
      ports: withPort("mailer", ({ status }) => ({
        status: async operation => {
          if (++lookUps === 1) throw new PeerFailure("mail", "status", "unanswered");
          return status(operation);
        },
      })),
    });
    await connector.runCredentials();
    expect(lookUps).toBe(1);
    const retry = { attempts: 0, nextAt: plus(connector.now(), minutes(1)) };
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "due", retry });
    for (let run = 0; run < 2; run++) {
      connector.advance(minutes(1));
      await connector.runCredentials("timer");
    }
    expect((await connector.keyRow(requestId)).mail.state).toBe("sent");
    expect(mailsTo(to)).toHaveLength(1);
  });

  test("because it is answered 503 with a time to come back is looked up then, and no other mail waits for it", async () => {
    const throttled = new PeerFailure("mail", "send", "throttled", { status: 503, retryAfterSeconds: 120 });
    const { connector, requestId, to } = await ready({ ports: sentThen(throttled) }, orderBody([1, 1]));
    await connector.runCredentials();
    expect(sends()).toBe(2);
    connector.advance(seconds(119));
    await connector.runCredentials("on_demand");
    expect(lookUps()).toBe(0);
    for (const wait of [1, 60]) {
      connector.advance(seconds(wait));
      await connector.runCredentials("timer");
    }
    for (const { mail } of (await connector.load(requestId)).keys) expect(mail.state).toBe("sent");
    expect([sends(), mailsTo(to).length]).toEqual([2, 2]);
  });

  test("is due again in a minute where it is under way, on demand too", async () => {
    const { connector, requestId, to } = await ready();
    peers.mail.outcome({ runningPolls: 4 });
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).mail).toMatchObject({
      state: "due",
      retry: { notBefore: expect.any(String) },
    });
    expect(lookUps()).toBe(2);
    connector.advance(seconds(60) - 1);
    await connector.runCredentials("on_demand");
    expect(lookUps()).toBe(2);
    for (const _ of [1, 2, 3]) {
      connector.advance(seconds(60));
      await connector.runCredentials("timer");
    }
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "sent" });
    expect(lookUps()).toBe(5);
    expect(mailsTo(to)).toHaveLength(1);
    expect(sends()).toBe(1);
  });

  test("and fails only after a while is sent again with back-off, not at each look-up", async () => {
    const { connector, requestId, to, errorMessage } = await ready();
    const error = { code: "QuotaExceeded", message: "" };
    peers.mail.outcome({ status: "Failed", error, runningPolls: 2, times: 4 });
    const sentAt: number[] = [];
    for (let minute = 0; minute <= 20; minute++) {
      const before = sends();
      await connector.runCredentials("timer");
      if (sends() > before) sentAt.push(minute);
      if (minute === 1)
        expect(await errorMessage()).toBe("The mail service could not deliver the PIN email: QuotaExceeded.");
      connector.advance(minutes(1));
    }
    // A look-up after one minute, then a back-off of 1, 2, 4 and 8 minutes.
    expect(sentAt).toEqual([0, 2, 5, 10, 19]);
    expect(mailsTo(to).map(mail => mail.operationId)).toEqual([operationId(requestId, "s-01-001", 5)]);
  });

  test("but accepted is sent once more, not each hour, if the mail service does not know it afterwards", async () => {
    const { connector, requestId, to } = await ready();
    const unknown = { error: { code: "NotFound", message: "There is no operation" } };
    peers.mail.fail({ kind: "refuse", status: 404, method: "GET", body: unknown, times: 1000 });
    for (let hour = 0; hour < 24; hour++) {
      await connector.runCredentials("timer");
      connector.advance(hours(1));
    }
    expect(mailsTo(to)).toHaveLength(2);
    expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "sent", number: 1 });
    expect(connector.events("pin_mail_unknown")).toHaveLength(1);
  });

  test("is looked up also where a further try was refused or throttled", async () => {
    for (const fault of [
      { kind: "throttle", retryAfter: 60 },
      { kind: "refuse", status: 400 },
    ] as const) {
      const { connector, requestId } = await ready();
      failing({ kind: "drop", phase: "before" });
      await connector.runCredentials();
      failing(fault);
      await connector.runCredentials();
      expect((await connector.keyRow(requestId)).mail.triedAt).toBeDefined();
    }
  });

  test("by 409, as to a second delivery of a send in progress, is looked up before it is sent again", async () => {
    const { connector, to } = await ready();
    failing({ kind: "refuse", status: 409, phase: "after" });
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect([sends(), mailsTo(to).length]).toEqual([1, 1]);
  });

  test("by a 404 of a proxy stops mailing after three, and is looked up before it is sent again", async () => {
    const { connector, to } = await ready({}, orderBody([1, 1, 1, 1]));
    failing({ kind: "nonsense", status: 404, phase: "after", times: 3 });
    await connector.runCredentials();
    expect(sends()).toBe(3);
    expect(connector.events("peer_stopped")).toMatchObject([{ peer: "mail service" }]);
    for (let run = 0; run < 2; run++) {
      connector.advance(minutes(1));
      await connector.runCredentials("timer");
    }
    expect([sends(), mailsTo(to).length]).toEqual([4, 4]);
  });

  test("since its host died is looked up before anything is sent", async () => {
    const { connector, requestId, to } = await ready({ ports: sentThen(new Error("killed")) });
    await connector.runCredentials();
    const host = connector.anotherInstance({ ports: () => ({}) });
    await host.runCredentials();
    expect(sends()).toBe(1);
    host.advance(seconds(180));
    await host.runCredentials();
    host.advance(seconds(60));
    await host.runCredentials();
    expect((await host.keyRow(requestId)).mail.state).toBe("sent");
    expect([sends(), mailsTo(to).length]).toEqual([1, 1]);
  });
});
