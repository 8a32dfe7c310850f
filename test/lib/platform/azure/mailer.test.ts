import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openMailer } from "../../../../lib/platform/azure/mailer.ts";
import { localAccessKey, localCredential } from "../../../../lib/platform/azure/services.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import type { Mailer } from "../../../../lib/platform/mail.ts";
import type { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { type MailService, startMail } from "../../../../local/peers/mail/mail.ts";
import { type HttpAnswer, startPeer } from "../../../../local/peers/peer.ts";

const sender = "keys@example.com";
const now = () => "2026-11-21T13:00:00.000Z";
const limits = { sender, now, timeoutMs: 20_000 };
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
  service = await startMail({ accessKey: localAccessKey });
  mailer = openMailer({ connectionString: service.connectionString, ...limits });
});
afterAll(() => service.close());
beforeEach(() => {
  service.clearFaults();
  service.clearMails();
  service.resetRequests();
});

/** A mailer whose service answers everything so. */
const answeredBy = async (answer: HttpAnswer, use: (mailer: Mailer, asked: () => number) => Promise<void>) => {
  const peer = await startPeer("mail", { handle: () => answer });
  try {
    await use(openMailer({ endpoint: peer.url, credential: localCredential, ...limits }), () => peer.requests().length);
  } finally {
    await peer.close();
  }
};

describe("a PIN email", () => {
  test("goes to all recipients as one message, in text and HTML, by exactly one request", async () => {
    const mail = pinMail();
    await mailer.send(mail);
    expect(service.mails()).toMatchObject([{ ...mail, from: sender }]);
    expect(service.requests()).toMatchObject([{ method: "POST", path: "/emails:send", status: 202 }]);
  });

  test("is taken also where a look-up would fail", async () => {
    service.fail({ kind: "drop", method: "GET" });
    await mailer.send(pinMail());
    expect(service.mails()).toHaveLength(1);
  });

  test.each([
    ["the connection is lost before the service did it", { kind: "drop" } as const, 0],
    ["the connection is lost after the service did it", { kind: "drop", phase: "after" } as const, 1],
    ["the service fails", { kind: "refuse", status: 500 } as const, 0],
    ["the service times out", { kind: "refuse", status: 408 } as const, 0],
    ["the answer is none of the service's", { kind: "nonsense", phase: "after" } as const, 1],
    ["the answer has no id", { kind: "refuse", status: 202, body: {}, phase: "after" } as const, 1],
  ])("is unanswered and never sent again by itself where %s", async (_, rule, mails) => {
    service.fail(rule);
    await expect(mailer.send(pinMail())).rejects.toMatchObject({ name: "PeerFailure", kind: "unanswered" });
    expect(service.mails()).toHaveLength(mails);
    expect(service.requests()).toHaveLength(1);
  });

  test("is unanswered if the response breaks off, and no error contains the PIN or a recipient", async () => {
    const headers = { "content-type": "application/json" };
    await answeredBy({ status: 202, headers, body: '{"id":"desk@example.com' }, async broken => {
      const error = await broken.send(pinMail()).catch((reason: Error) => reason);
      expect(error).toMatchObject({ kind: "unanswered", status: 202 });
      expect(everyTextOf(error as Error)).not.toMatch(/example\.com|314159/);
    });
  });

  test("is unanswered when the call's time is over", async () => {
    service.fail({ kind: "hang" });
    const hurried = openMailer({ connectionString: service.connectionString, ...limits, timeoutMs: 500 });
    await expect(hurried.send(pinMail())).rejects.toMatchObject({ kind: "unanswered" });
    expect(service.requests()).toHaveLength(1);
  });

  test("is throttled, with the seconds to wait, and not tried again by itself", async () => {
    service.fail({ kind: "throttle", retryAfter: 2 });
    await expect(mailer.send(pinMail())).rejects.toMatchObject({
      kind: "throttled",
      status: 429,
      retryAfterSeconds: 2,
    });
    expect(service.requests()).toHaveLength(1);
    service.fail({ kind: "throttle", retryAfter: "0, 2.128" });
    await expect(mailer.send(pinMail())).rejects.toMatchObject({ kind: "throttled", retryAfterSeconds: 3 });
    await answeredBy({ status: 503, headers: { "retry-after": "Sat, 21 Nov 2026 13:01:30 GMT" } }, async busy => {
      await expect(busy.send(pinMail())).rejects.toMatchObject({
        kind: "throttled",
        status: 503,
        retryAfterSeconds: 90,
      });
    });
  });

  test("is refused for good with the service's code, and no error contains a recipient", async () => {
    const body = { error: { code: "EmailDroppedAllRecipientsSuppressed", message: "desk@example.com is suppressed" } };
    service.fail({ kind: "refuse", status: 400, body });
    const error = await mailer.send(pinMail()).catch((reason: Error) => reason);
    expect(error).toMatchObject({ kind: "refused", status: 400, code: body.error.code });
    expect(everyTextOf(error as Error)).not.toMatch(/example\.com|314159/);
  });

  test("is not sent with a key that the service does not take", async () => {
    const connectionString = `endpoint=${service.url};accesskey=b3RoZXI=`;
    await expect(openMailer({ connectionString, ...limits }).send(pinMail())).rejects.toMatchObject({
      kind: "unauthorized",
      code: "Denied",
    });
  });

  test("does not follow a redirect", async () => {
    await answeredBy({ status: 307, headers: { location: "/emails:send" } }, async (moved, asked) => {
      await expect(moved.send(pinMail())).rejects.toMatchObject({ kind: "unanswered", status: 307 });
      expect(asked()).toBe(1);
    });
  });

  test("was not sent where nothing listens, nor where the service's identity gives no token", async () => {
    const gone = await startPeer("gone", { handle: () => undefined });
    await gone.close();
    const credential = { getToken: () => Promise.reject(new Fault("unavailable", "no identity")) };
    const unreachable: readonly Parameters<typeof openMailer>[0][] = [
      { endpoint: gone.url, credential: localCredential, ...limits },
      { endpoint: "https://mail.example", credential, ...limits },
    ];
    for (const options of unreachable)
      await expect(openMailer(options).send(pinMail())).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("is not sent by a process that was stopped meanwhile for longer than the call may take", async () => {
    const times = ["2026-11-21T13:00:00.000Z", "2026-11-21T13:00:20.000Z"];
    const stopped = { ...limits, now: () => times.shift() ?? "2026-11-21T13:00:20.000Z" };
    const { connectionString } = service;
    await expect(openMailer({ connectionString, ...stopped }).send(pinMail())).rejects.toMatchObject({
      kind: "unreachable",
    });
    expect(service.requests()).toEqual([]);
  });

  test("never leaves without TLS, this machine excepted", () => {
    const endpoint = "http://mail.example";
    expect(() => openMailer({ endpoint, credential: localCredential, ...limits })).toThrow(/refused/);
    expect(() => openMailer({ connectionString: `endpoint=${endpoint}/;accesskey=eA==`, ...limits })).toThrow(
      /refused/,
    );
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
    const to = [`${randomUUID()}@example.com`, `${randomUUID()}@example.com`];
    const mail = { ...pinMail(), to };
    for (const address of to) service.suppressed.add(address);
    await mailer.send(mail);
    await mailer.status(mail.operationId);
    expect(await mailer.status(mail.operationId)).toEqual({
      status: "failed",
      code: "EmailDroppedAllRecipientsSuppressed",
    });
  });

  test.each(["desk@example.com", "desk example", "<b>", "x".repeat(65), "4", "", "a-b"])(
    "has no code that is not a word: %s",
    async code => {
      const mail = pinMail();
      service.outcome({ status: "Failed", error: { code, message: "y" }, runningPolls: 0 });
      await mailer.send(mail).catch(() => {});
      expect(await mailer.status(mail.operationId)).toEqual({ status: "failed" });
      service.fail({ kind: "refuse", status: 404, body: { error: { code, message: "y" } }, times: 2 });
      expect(await mailer.send(pinMail()).catch((reason: PeerFailure) => reason)).toMatchObject({
        kind: "unreachable",
        code: undefined,
      });
      await expect(mailer.status(randomUUID())).rejects.toMatchObject({ kind: "unreachable", code: undefined });
    },
  );

  test.each([
    ["unanswered", { kind: "drop" }],
    ["unanswered", { kind: "refuse", status: 500 }],
    ["unanswered", { kind: "nonsense" }],
    ["unanswered", { kind: "refuse", status: 200, body: { id: "x", status: "Lost" } }],
    ["throttled", { kind: "throttle", retryAfter: 1 }],
    ["unauthorized", { kind: "refuse", status: 403 }],
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
