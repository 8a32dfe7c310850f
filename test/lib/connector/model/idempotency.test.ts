import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answerOf,
  fingerprintOf,
  neverConfirmedMessage,
  scopeOf,
} from "../../../../lib/connector/model/idempotency.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { forAll } from "../../../support/for-all.ts";

const now = "2026-01-31T10:00:00.000Z";
describe("the outcome of a create by the row of its request", () => {
  const ordered = {
    deliveryType: 1,
    mailingAddress: { streetLine1: "1", postalCode: "1", city: "1", countryCode: "SE" },
  };
  const sent = { sentAt: now };
  const shipped = { ...sent, shipment: { id: "s1", tentative: true } };
  const ids = { requestId: "r1", shipmentId: "s1" };

  test.each<[string, object, object]>([
    ["is the request alone if nothing is shipped", { state: "started" }, { created: { requestId: "r1" } }],
    [
      "is its shipment, with any later outcome",
      { state: "failed", shipment: ordered, delivery: shipped },
      { created: ids },
    ],
    [
      "is a conflict if it was cancelled before its order was confirmed",
      { state: "cancelled", shipment: ordered, delivery: sent },
      { refused: { kind: "conflict", data: { credential_request_id: "r1" } } },
    ],
    [
      "is a failure if the order was never confirmed",
      { state: "failed", shipment: ordered, delivery: sent },
      { refused: { kind: "internal", message: neverConfirmedMessage, data: { credential_request_id: "r1" } } },
    ],
  ])("%s", (_, row, answer) => {
    expect(answerOf({ id: "r1", ...row } as CredentialRequest)).toMatchObject(answer);
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
