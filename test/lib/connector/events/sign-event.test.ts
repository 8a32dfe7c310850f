import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { signatureHeaders } from "../../../../lib/connector/events/event-sink.ts";

const newSecret = (bytes = 32) => `whsec_${randomBytes(bytes).toString("base64")}`;
const body = JSON.stringify({ specversion: "1.0", data: { state: "started" } });
const message = (text = body) => ({ id: "an-id", timestamp: Math.floor(Date.now() / 1000), body: text });

test("a receiver with the secret verifies the signature, by the library of Standard Webhooks", () => {
  const secret = newSecret();
  expect(new Webhook(secret).verify(body, signatureHeaders(message(), [secret]))).toEqual(JSON.parse(body));
});

test("a secret is read without the white space around it, as files and editors leave it", () => {
  const secret = newSecret();
  const headers = signatureHeaders(message(), [` ${secret}\n`]);
  expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
});

test("a message with two signatures is verified by a receiver with either secret", () => {
  const secrets = [newSecret(), newSecret()];
  const headers = signatureHeaders(message(), secrets);
  for (const secret of secrets) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
});

test.each([
  ["another body", `${body} `, {}],
  ["another id", body, { "webhook-id": "another" }],
  ["another time", body, { "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 60) }],
])("the signature does not fit %s", (_, sent, changed) => {
  const secret = newSecret();
  const headers = { ...signatureHeaders(message(), [secret]), ...changed };
  expect(() => new Webhook(secret).verify(sent, headers)).toThrow();
});

test("is not verified with another secret", () => {
  const headers = signatureHeaders(message(), [newSecret()]);
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
});

test.each([
  ["without its prefix", randomBytes(32).toString("base64")],
  ["of another alphabet", "whsec_????"],
  ["of too few bytes", newSecret(23)],
  ["of too many bytes", newSecret(65)],
  ["that is empty", ""],
])("refuses a secret %s, without quoting it", (_, secret) => {
  const sign = () => signatureHeaders(message(), [secret]);
  expect(sign).toThrow("whsec_ with 24 to 64 bytes in base64");
  if (secret !== "") expect(sign).not.toThrow(secret);
});

test("omits a former secret of another form", () => {
  const secret = newSecret();
  const headers = signatureHeaders(message(), [secret, "a password"]);
  expect(headers["webhook-signature"]?.split(" ")).toHaveLength(1);
  expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
});
