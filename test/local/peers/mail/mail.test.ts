import { randomBytes } from "node:crypto";
import { EmailClient, type EmailMessage } from "@azure/communication-email";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MailService, startMail } from "../../../../local/peers/mail/mail.ts";

const accessKey = randomBytes(32).toString("base64");
let mail: MailService;
let client: EmailClient;

const clientOf = (connectionString: string) =>
  new EmailClient(connectionString, { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });

beforeEach(async () => {
  mail = await startMail({ accessKey });
  client = clientOf(mail.connectionString);
});

afterEach(() => mail.close());

const message: EmailMessage = {
  senderAddress: "keys@example.org",
  recipients: { to: [{ address: "one@example.org" }, { address: "two@example.org" }] },
  content: { subject: "Your key", plainText: "PIN ä 1234", html: "<p>PIN ä 1234</p>" },
};

describe("the mail service", () => {
  test("delivers what the real client sends", async () => {
    const poller = await client.beginSend(message, { updateIntervalInMs: 10 });
    expect(poller.getOperationState().status).toBe("running");
    await poller.poll();
    expect(poller.getResult()).toMatchObject({ status: "Succeeded" });
    expect(mail.mails()).toEqual([
      {
        id: expect.any(String),
        operationId: poller.getResult()?.id,
        from: "keys@example.org",
        to: ["one@example.org", "two@example.org"],
        subject: "Your key",
        text: "PIN ä 1234",
        html: "<p>PIN ä 1234</p>",
        at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect(await (await fetch(`${mail.url}/_control/mails`)).json()).toEqual(mail.mails());
    await fetch(`${mail.url}/_control/mails`, { method: "DELETE" });
    expect(mail.mails()).toEqual([]);
  });

  test("refuses a wrong signature, a changed body and no signature at all", async () => {
    const unauthorized = clientOf(`endpoint=${mail.url}/;accesskey=${randomBytes(32).toString("base64")}`);
    await expect(unauthorized.beginSend(message)).rejects.toMatchObject({ statusCode: 401, code: "Denied" });
    expect((await signedAgain(body => body.replace("1234", "9999"))).status).toBe(401);
    expect((await signedAgain(body => body)).status).toBe(202);
    const answer = await fetch(`${mail.url}/emails:send?api-version=2025-09-01`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(401);
    expect(mail.mails()).toHaveLength(1);
  });

  test.each([
    ["no recipient", { ...message, recipients: { to: [] } }, /recipients\.to/],
    ["a bad recipient", { ...message, recipients: { to: [{ address: "nobody" }] } }, /recipients\.to\.0\.address/],
    ["a bad sender", { ...message, senderAddress: "nobody" }, /senderAddress/],
    ["no text", { ...message, content: { subject: "Your key" } as EmailMessage["content"] }, /content/],
  ])("refuses a mail with %s", async (_, bad, text) => {
    await expect(client.beginSend(bad)).rejects.toMatchObject({
      statusCode: 400,
      code: "BadRequest",
      message: expect.stringMatching(text),
    });
    expect(mail.mails()).toEqual([]);
  });

  test("refuses an operation id that is not a UUID", async () => {
    expect((await signedAgain(body => body, { "operation-id": "one" })).status).toBe(400);
  });
});

/** Repeats a send of the real client with its own signature, its body changed on the way. */
async function signedAgain(change: (body: string) => string = body => body, extra: Record<string, string> = {}) {
  let sent: { url: string; headers: Record<string, string>; body: string } | undefined;
  const recorder = new EmailClient(mail.connectionString, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    httpClient: {
      sendRequest: async request => {
        sent = { url: request.url, headers: request.headers.toJSON(), body: String(request.body) };
        throw new Error("recorded");
      },
    },
  });
  await recorder.beginSend(message).catch(() => undefined);
  const { url, headers, body } = sent ?? { url: "", headers: {}, body: "" };
  const { "content-length": _, host: __, ...kept } = headers;
  return fetch(url, { method: "POST", headers: { ...kept, ...extra }, body: change(body) });
}
