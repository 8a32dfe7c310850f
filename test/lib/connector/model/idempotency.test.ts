import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Claim,
  fingerprintOf,
  judgeClaim,
  judgeRequest,
  scopeOf,
} from "../../../../lib/connector/model/idempotency.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { minutes, plus } from "../../../../lib/platform/time.ts";
import { forAll } from "../../../support/for-all.ts";

const now = "2026-01-31T10:00:00.000Z";
const claim: Claim = {
  scope: "0f",
  fingerprint: "ours",
  requestId: "r1",
  claimedAt: plus(now, -minutes(5)),
  endsAt: plus(now, 1),
};
const created = { created: { requestId: "r1", shipmentId: "s1" } };
const refused = { refused: { kind: "delivery_refused", message: "The last name is too long." } } as const;

describe("a claim of an Idempotency-Key", () => {
  test.each<[string, Partial<Claim>, ReturnType<typeof judgeClaim>]>([
    [
      "is free once its time is over, with any content",
      { endsAt: now, fingerprint: "another", answer: created },
      { is: "free" },
    ],
    ["is never answered to another body", { fingerprint: "another", answer: created }, { is: "other_body" }],
    [
      "has no answer to another body once it was erased",
      { fingerprint: "another", answer: "erased" },
      { is: "other_body" },
    ],
    ["gives the ids again", { answer: created }, { is: "answered", answer: created }],
    ["gives a refusal again", { answer: refused }, { is: "answered", answer: refused }],
    ["of an erased request has no answer", { answer: "erased" }, { is: "erased" }],
    ["that is unreconciled is judged by its request at once", { answer: "unreconciled" }, { is: "look" }],
    ["without an answer runs for 5 minutes", {}, { is: "running" }],
    ["without an answer is then judged by its request", { claimedAt: plus(now, -minutes(5) - 1) }, { is: "look" }],
  ])("%s", (_, changes, verdict) => {
    const call = { fingerprint: "ours", now, runningMs: minutes(5) };
    expect(judgeClaim({ ...claim, ...changes }, call)).toEqual(verdict);
  });
});

describe("the request of a claim", () => {
  const ordered = {
    deliveryType: 1,
    mailingAddress: { streetLine1: "1", postalCode: "1", city: "1", countryCode: "SE" },
  };
  const sent = { sentAt: now };
  const shipped = { ...sent, shipment: { id: "s1", tentative: true } };

  test.each<[string, object | undefined, ReturnType<typeof judgeRequest>]>([
    ["is created where there is none", undefined, { is: "free" }],
    ["is created again where nothing was sent", { state: "failed", neverSent: true, delivery: sent }, { is: "free" }],
    [
      "is created again where it was left without an order intent",
      { state: "received", delivery: {} },
      { is: "abandoned" },
    ],
    ["is not created again where the order may exist", { state: "received", delivery: sent }, { is: "unreconciled" }],
    [
      "is answered without a shipment once it has started",
      { state: "started" },
      { is: "answered", answer: { created: { requestId: "r1" } } },
    ],
    [
      "is answered with its shipment, with any later outcome",
      { state: "failed", shipment: ordered, delivery: shipped },
      { is: "answered", answer: created },
    ],
    ["was cancelled before it started", { state: "cancelled", shipment: ordered, delivery: sent }, { is: "cancelled" }],
    [
      "was never confirmed",
      { state: "failed", shipment: ordered, delivery: sent, errorMessage: "why" },
      { is: "never_confirmed", reason: "why" },
    ],
  ])("%s", (_, row, verdict) => {
    expect(judgeRequest(row && ({ id: "r1", ...row } as CredentialRequest))).toEqual(verdict);
  });
});

describe("what a claim keeps of a call", () => {
  test("names caller, endpoint and key by a hash of all three", () => {
    const short = fc.string({ maxLength: 3 });
    const part = fc.tuple(
      fc.constantFrom("v2" as const, "v1_shipment" as const),
      fc.record(
        { kind: fc.constantFrom("tenant" as const, "api_token" as const), application: short, subject: short },
        { requiredKeys: ["kind", "application"] },
      ),
      short,
    );
    forAll(fc.tuple(part, part), ([a, b]) => {
      expect(scopeOf(...a) === scopeOf(...b)).toBe(JSON.stringify(canonical(a)) === JSON.stringify(canonical(b)));
    });
    expect(scopeOf("v2", { kind: "api_token", application: "abc" }, "order-1")).toMatch(/^[0-9a-f]{64}$/);
  });

  test("distinguishes bodies by their values, not by the order of their fields", () => {
    forAll(fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 })), ([a, b]) => {
      const print = (value: unknown) => fingerprintOf({ value }, "key");
      expect(print(a)).toBe(print(reversed(a)));
      expect(print(a) === print(b)).toBe(JSON.stringify(canonical(a)) === JSON.stringify(canonical(b)));
    });
  });

  test("cannot be tried out without the key", () => {
    const body = { telephone: "+15550100" };
    expect(fingerprintOf(body, "one")).not.toBe(fingerprintOf(body, "two"));
    expect(fingerprintOf(body, "one")).not.toContain("1555");
  });
});

const ordered = (value: unknown, order: (entries: [string, unknown][]) => [string, unknown][]): unknown => {
  if (Array.isArray(value)) return value.map(element => ordered(element, order));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(order(Object.entries(value)).map(([name, inner]) => [name, ordered(inner, order)]));
};
const reversed = (value: unknown) => ordered(value, entries => entries.reverse());
const canonical = (value: unknown) => ordered(value, entries => entries.sort(([a], [b]) => (a < b ? -1 : 1)));
