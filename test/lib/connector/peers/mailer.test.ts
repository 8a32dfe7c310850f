import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Mailer, openMailer } from "../../../../lib/connector/peers/mailer.ts";
import { type MailService, startMail } from "../../../../local/peers/mail/mail.ts";
import { oddPeer, testTools } from "../../../support/connector/peer-tools.ts";

const sender = "keys@example.com";
const managedIdentityToken = async () => "a-token";
const options = { ...testTools(), sender, timeLimitMs: 20_000, managedIdentityToken };
const pinMail = () => ({
  to: ["desk@example.com", "second@example.com"],
  subject: "Your key",
  text: "PIN 314159",
  html: "<p>PIN 314159</p>",
  operationId: randomUUID(),
});

let service: MailService;
let mailer: Mailer;

beforeAll(async () => {
  service = await startMail({ accessKey: "bG9jYWw=" });
  mailer = openMailer({ ...options, endpoint: service.connectionString });
});
afterAll(() => service.close());
beforeEach(() => {
  service.clearFaults();
  service.clearMails();
  service.resetRequests();
});

const failureOf = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => expect.unreachable(),
    error => error,
  );

describe("a PIN email", () => {
  test("goes to all recipients as one message, in text and HTML, by exactly one request", async () => {
    const mail = pinMail();
    await mailer.send(mail);
    expect(service.mails()).toMatchObject([{ ...mail, from: sender }]);
    expect(service.requests()).toMatchObject([{ method: "POST", path: "/emails:send", status: 202 }]);
  });

  test("is sent with a token of the app's identity, and tracks no reader", async () => {
    const { url, calls } = await oddPeer(() => ({ status: 202, body: { id: "x" } }));
    await openMailer({ ...options, endpoint: `${url}/` }).send(pinMail());
    expect(calls).toMatchObject([{ path: "/emails:send", headers: { authorization: "Bearer a-token" } }]);
    expect(JSON.parse(String(calls[0]?.body))).toMatchObject({ userEngagementTrackingDisabled: true });
  });

  test.each([
    ["the connection is lost after the service did it", { kind: "drop", phase: "after" } as const, 1],
    ["the service fails", { kind: "refuse", status: 500 } as const, 0],
    ["the answer has no id", { kind: "refuse", status: 202, body: {}, phase: "after" } as const, 1],
  ])("is unanswered and never sent again by itself where %s", async (_, rule, mails) => {
    service.fail(rule);
    await expect(mailer.send(pinMail())).rejects.toMatchObject({ name: "PeerFailure", kind: "unanswered" });
    expect(service.mails()).toHaveLength(mails);
    expect(service.requests()).toHaveLength(1);
  });

  test("is refused for good with the service's code, and no error contains the PIN or a recipient", async () => {
    const body = { error: { code: "EmailDroppedAllRecipientsSuppressed", message: "desk@example.com is suppressed" } };
    for (const status of [400, 202]) {
      service.fail({ kind: "refuse", status, body });
      const error = await failureOf(mailer.send(pinMail()));
      expect(error).toMatchObject(status === 202 ? { kind: "unanswered" } : { kind: "refused", code: body.error.code });
      expect(everyTextOf(error)).not.toMatch(/example\.com|314159/);
    }
  });

  test("is not sent with a key that the service does not take", async () => {
    const other = openMailer({ ...options, endpoint: `endpoint=${service.url};accesskey=b3RoZXI=` });
    await expect(other.send(pinMail())).rejects.toMatchObject({ kind: "unauthorized", code: "Denied" });
  });

  test("was not sent where the app's identity gets no token", async () => {
    const withoutToken = { ...options, managedIdentityToken: () => Promise.reject(new Error("no identity")) };
    const failing = openMailer({ ...withoutToken, endpoint: service.url }).send(pinMail());
    await expect(failing).rejects.toMatchObject({ kind: "unreachable" });
    expect(service.requests()).toEqual([]);
  });

  test("is not sent by a process that was stopped meanwhile for longer than the call may take", async () => {
    const times = ["2026-11-21T13:00:00.000Z"];
    const now = () => times.shift() ?? "2026-11-21T13:00:20.001Z";
    const stopped = openMailer({ ...options, now, endpoint: service.connectionString });
    await expect(stopped.send(pinMail())).rejects.toMatchObject({ kind: "unreachable" });
    expect(service.requests()).toEqual([]);
  });
});

describe("the look-up of an operation", () => {
  test.each([
    ["Succeeded", "succeeded"],
    ["Failed", "failed"],
    ["Canceled", "failed"],
  ] as const)("says running until it is %s, then %s, by one request each", async (status, result) => {
    const mail = pinMail();
    service.outcome({ status, runningPolls: 1 });
    await mailer.send(mail);
    service.resetRequests();
    expect(await mailer.status(mail.operationId)).toEqual({ status: "running" });
    expect(await mailer.status(mail.operationId)).toEqual({ status: result });
    const path = `/emails/operations/${mail.operationId}`;
    expect(service.requests()).toMatchObject([
      { method: "GET", path },
      { method: "GET", path },
    ]);
  });

  test("does not know an operation that never arrived", async () => {
    expect(await mailer.status(randomUUID())).toEqual({ status: "unknown" });
    expect(service.requests()).toHaveLength(1);
  });

  test("has the service's error code of a failed mail", async () => {
    const mail = pinMail();
    for (const address of mail.to) service.suppressed.add(address);
    await mailer.send(mail);
    service.suppressed.clear();
    await mailer.status(mail.operationId);
    const code = "EmailDroppedAllRecipientsSuppressed";
    expect(await mailer.status(mail.operationId)).toEqual({ status: "failed", code });
  });

  test.each(["desk@example.com", "desk example", "<b>", "x".repeat(65), "4", "", "a-b"])(
    "has no code that is not a word: %s",
    async code => {
      const mail = pinMail();
      service.outcome({ status: "Failed", error: { code, message: "y" }, runningPolls: 0 });
      await mailer.send(mail);
      expect(await mailer.status(mail.operationId)).toEqual({ status: "failed" });
      service.fail({ kind: "refuse", status: 404, body: { error: { code, message: "y" } }, times: 2 });
      const unreachable = { kind: "unreachable", code: undefined };
      await expect(mailer.send(pinMail())).rejects.toMatchObject(unreachable);
      await expect(mailer.status(randomUUID())).rejects.toMatchObject(unreachable);
    },
  );

  test.each([
    ["unanswered", { kind: "refuse", status: 500 }],
    ["unanswered", { kind: "refuse", status: 200, body: { id: "x", status: "Lost" } }],
    ["unreachable", { kind: "nonsense", status: 404 }],
  ] as const)("that fails is %s (%j), not a failed mail", async (kind, rule) => {
    service.fail(rule);
    await expect(mailer.status(randomUUID())).rejects.toMatchObject({ name: "PeerFailure", kind });
  });
});

/** Returns every text of an error that a log could contain. */
const everyTextOf = (error: Error): string =>
  [
    error.message,
    error.stack,
    JSON.stringify(error),
    error.cause instanceof Error ? everyTextOf(error.cause) : "",
  ].join("\n");
