import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Claim,
  fingerprintOf,
  judgeClaim,
  judgeRequest,
  scopeOf,
} from "../../../../lib/connector/model/idempotency.ts";
import type { CredentialRequest, Delivery } from "../../../../lib/connector/model/request.ts";
import { requestStates } from "../../../../lib/connector/model/states.ts";
import { instant, minutes } from "../../../../lib/platform/time.ts";
import { forAll } from "../../../support/for-all.ts";

const start = Date.UTC(2026, 0, 31);
const time = fc.integer({ min: 0, max: 20 * 86_400_000 }).map(ms => instant(start + ms));

const answer = fc.oneof(
  fc.constant("unreconciled" as const),
  fc.constant("erased" as const),
  fc.constant({ created: { requestId: "r1", shipmentId: "s1" } }),
  fc.constant({ refused: { kind: "delivery_refused" as const, message: "The last name is too long." } }),
);

const claim: fc.Arbitrary<Claim> = fc.record(
  {
    scope: fc.constant("0f"),
    fingerprint: fc.constantFrom("ours", "another"),
    requestId: fc.constant("r1"),
    claimedAt: time,
    endsAt: time,
    answer,
  },
  { requiredKeys: ["scope", "fingerprint", "requestId", "claimedAt", "endsAt"] },
);

const call = fc.record({
  fingerprint: fc.constant("ours"),
  now: time,
  runningMs: fc.constant(minutes(5)),
});

const order = {
  deliveryType: 1,
  mailingAddress: { streetLine1: "1", postalCode: "1", city: "1", countryCode: "SE" },
} as const;
const shipment = fc.record({ id: fc.constant("s1"), tentative: fc.constant(true) }, { requiredKeys: ["id"] });
const delivery: fc.Arbitrary<Delivery> = fc.record({ sentAt: time, shipment }, { requiredKeys: [] });
const request = fc.record(
  {
    id: fc.constant("r1"),
    state: fc.constantFrom(...requestStates),
    shipment: fc.constant(order),
    delivery,
    errorMessage: fc.constant("why"),
    neverSent: fc.constant(true),
  },
  { requiredKeys: ["id", "state"] },
) as fc.Arbitrary<CredentialRequest>;

describe("a claim of an Idempotency-Key", () => {
  test("is free when its 7 days are over, with any content", () => {
    forAll(fc.tuple(claim, call), ([claim, call]) => {
      expect(judgeClaim(claim, call).is === "free").toBe(claim.endsAt <= call.now);
    });
  });

  test("that lasts is never answered to another body", () => {
    forAll(fc.tuple(claim, call), ([claim, call]) => {
      const { is } = judgeClaim(claim, call);
      if (claim.endsAt > call.now && claim.fingerprint !== call.fingerprint) expect(is).toBe("other_body");
      else expect(is).not.toBe("other_body");
    });
  });

  test("gives its kept answer again, as it was", () => {
    forAll(fc.tuple(claim, call), ([{ answer, ...rest }, call]) => {
      fc.pre(typeof answer === "object" && rest.endsAt > call.now);
      const own = { ...rest, fingerprint: call.fingerprint, ...(answer && { answer }) };
      expect(judgeClaim(own, call)).toEqual({ is: "answered", answer });
    });
  });

  test("without an answer runs for 5 minutes, and is then judged by its request", () => {
    forAll(fc.tuple(claim, call), ([{ answer: _, ...rest }, call]) => {
      fc.pre(rest.endsAt > call.now);
      const age = Date.parse(call.now) - Date.parse(rest.claimedAt);
      const { is } = judgeClaim({ ...rest, fingerprint: call.fingerprint }, call);
      expect(is).toBe(age > minutes(5) ? "look" : "running");
    });
  });

  test("that is unreconciled is judged by its request at once", () => {
    forAll(fc.tuple(claim, call), ([claim, call]) => {
      fc.pre(claim.endsAt > call.now);
      const unreconciled: Claim = { ...claim, fingerprint: call.fingerprint, answer: "unreconciled" };
      expect(judgeClaim(unreconciled, call)).toEqual({ is: "look" });
    });
  });
});

describe("the request of a claim", () => {
  test("is never started again where the delivery service may have it", () => {
    forAll(request, request => {
      fc.pre(request.neverSent !== true && request.delivery?.sentAt !== undefined);
      expect(["free", "abandoned"]).not.toContain(judgeRequest(request).is);
    });
  });

  test("is started again where there is none, where nothing was sent, or where it is left without an order intent", () => {
    expect(judgeRequest(undefined)).toEqual({ is: "free" });
    forAll(request, request => {
      const { is } = judgeRequest(request);
      expect(is === "free").toBe(request.neverSent === true);
      const unmarked = request.state === "received" && request.delivery?.sentAt === undefined;
      expect(is === "abandoned").toBe(unmarked && request.neverSent !== true);
    });
  });

  test("is answered with its ids as soon as it has started, with any later outcome", () => {
    forAll(request, request => {
      fc.pre(request.neverSent !== true && request.state !== "received");
      const shipmentId = request.delivery?.shipment?.id;
      fc.pre(request.shipment === undefined || shipmentId !== undefined);
      const created = { requestId: "r1", ...(shipmentId !== undefined && { shipmentId }) };
      expect(judgeRequest(request)).toEqual({ is: "answered", answer: { created } });
    });
  });

  test("is answered as ended where it was cancelled before it started, or never confirmed", () => {
    const ended = { id: "r1", shipment: order, errorMessage: "why" } as CredentialRequest;
    expect(judgeRequest({ ...ended, state: "cancelled" })).toEqual({ is: "cancelled" });
    const failed = { ...ended, state: "failed", delivery: { sentAt: instant(start) } } as const;
    expect(judgeRequest(failed)).toEqual({ is: "never_confirmed", reason: "why" });
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
