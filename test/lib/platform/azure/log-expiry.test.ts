import { expect, it } from "vitest";
import { logExpiry, type Secret, type Secrets } from "../../../../lib/platform/azure/secrets.ts";
import { inTrace } from "../../../../lib/platform/telemetry.ts";

const now = "2026-11-01T12:00:00.000Z";

/** What is measured while secrets are read. */
async function measuredOf(secret: Secret | undefined) {
  const measured: unknown[] = [];
  const inner: Secrets = {
    get: async () => secret,
    getVersion: async () => secret,
    set: async () => Promise.reject(new Error("not asked")),
    versions: async () => [],
    disable: async () => {},
    setTags: async () => {},
  };
  const secrets = logExpiry(inner, () => now);
  const sink = { span: () => {}, measure: (...args: readonly unknown[]) => void measured.push(args) };
  const tracer = { sink, now: () => 0, random: (bytes: number) => new Uint8Array(bytes).fill(1) };
  await inTrace(tracer, { name: "call", labels: {} }, async () => {
    expect(await secrets.get("delivery-api-token")).toBe(secret);
    expect(await secrets.getVersion("delivery-api-token", "old")).toBe(secret);
  });
  return measured;
}

const expiring = (time: string): Secret => ({ value: "v", version: "1", expiresOn: new Date(time) });

it("a secret that expires is logged with its days left and its name, nothing else", async () => {
  const labels = { secret: "delivery-api-token" };
  expect(await measuredOf(expiring("2026-11-04T00:00:00Z"))).toEqual([["secret.days_left", 2.5, labels]]);
});

it("an expired secret has no days left", async () => {
  const labels = { secret: "delivery-api-token" };
  expect(await measuredOf(expiring("2026-10-31T12:00:00Z"))).toEqual([["secret.days_left", 0, labels]]);
});

it("a secret without a date and a missing secret log nothing", async () => {
  expect(await measuredOf({ value: "v", version: "1" })).toEqual([]);
  expect(await measuredOf(undefined)).toEqual([]);
});
