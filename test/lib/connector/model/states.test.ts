import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CredentialEvent,
  type CredentialState,
  credentialStates,
  isTerminal,
  requestStates,
  rollUpRequest,
  rollUpSecurityKey,
  securityKeyStates,
  startRequest,
  transition,
} from "../../../../lib/connector/model/states.ts";
import { forAll } from "../../../support/for-all.ts";

const legal: readonly (readonly [CredentialState, CredentialEvent, CredentialState])[] = [
  ["processing", "response_decoded", "activation_pending"],
  ["processing", "not_enrolled", "failed"],
  ["processing", "expired", "failed"],
  ["processing", "cancelled", "cancelled"],
  ["processing", "request_failed", "failed"],
  ["activation_pending", "activated", "active"],
  ["activation_pending", "response_rejected", "failed"],
  ["activation_pending", "refused", "failed"],
  ["activation_pending", "expired", "failed"],
  ["activation_pending", "request_failed", "failed"],
];
const events: readonly CredentialEvent[] = [
  "response_decoded",
  "response_rejected",
  "activated",
  "refused",
  "not_enrolled",
  "expired",
  "cancelled",
  "request_failed",
];

const credentials = fc.array(fc.constantFrom(...credentialStates), { minLength: 1, maxLength: 8 });
const keys = fc.array(fc.constantFrom(...securityKeyStates), { minLength: 1, maxLength: 8 });
const shuffled = <T>(lists: fc.Arbitrary<T[]>) =>
  lists.chain(list => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })));

describe("transitions of a credential", () => {
  it.each(legal)("%s, %s: %s", (from, event, to) => {
    expect(transition(from, event)).toBe(to);
  });

  it("has no other transition", () => {
    for (const from of credentialStates) {
      for (const event of events) {
        if (legal.some(([state, known]) => state === from && known === event)) continue;
        expect(() => transition(from, event)).toThrow(`a credential that is ${from} cannot be ${event}`);
      }
    }
  });

  it("never leaves a terminal state, and always leaves an open one for another state", () => {
    for (const from of credentialStates) {
      const next = legal.filter(([state]) => state === from).map(([, , to]) => to);
      expect(next.length === 0).toBe(isTerminal(from));
      expect(next).not.toContain(from);
    }
  });

  it("does not cancel a key that is already produced", () => {
    expect(() => transition("activation_pending", "cancelled")).toThrow();
  });

  it("a request that fails before it starts ends with all its open credentials as failed", () => {
    forAll(fc.array(fc.constantFrom("processing" as const, "activation_pending" as const), { minLength: 1 }), open => {
      const key = rollUpSecurityKey(open.map(state => transition(state, "request_failed")));
      expect(key).toBe("failed");
      expect(rollUpRequest("received", [key])).toBe("failed");
    });
  });
});

describe("roll-up of a key", () => {
  it("is processing exactly while any credential is open", () => {
    forAll(credentials, states => {
      expect(rollUpSecurityKey(states) === "processing").toBe(states.some(state => !isTerminal(state)));
    });
  });

  it("is complete, partial, cancelled or failed by what its credentials came to", () => {
    const ended = fc.array(fc.constantFrom("active" as const, "failed" as const, "cancelled" as const), {
      minLength: 1,
    });
    forAll(ended, states => {
      const kinds = new Set(states);
      const expected =
        kinds.has("active") && kinds.size === 1
          ? "complete"
          : kinds.has("active")
            ? "partial"
            : kinds.has("failed")
              ? "failed"
              : "cancelled";
      expect(rollUpSecurityKey(states)).toBe(expected);
    });
  });

  it("does not depend on the order of the credentials", () => {
    forAll(shuffled(credentials), ([a, b]) => {
      expect(rollUpSecurityKey(b)).toBe(rollUpSecurityKey(a));
    });
  });

  it("needs a credential", () => {
    expect(() => rollUpSecurityKey([])).toThrow();
  });
});

describe("roll-up of a request", () => {
  it("never changes a terminal state", () => {
    for (const state of requestStates.filter(isTerminal)) {
      forAll(keys, states => {
        expect(rollUpRequest(state, states)).toBe(state);
      });
    }
  });

  it("stays as it is while any item or authenticator is open", () => {
    for (const state of ["received", "started"] as const) {
      forAll(shuffled(keys.map(states => [...states, "processing" as const])), ([, states]) => {
        expect(rollUpRequest(state, states)).toBe(state);
      });
    }
  });

  it("ends by what its items and authenticators came to", () => {
    const ended = fc.array(fc.constantFrom(...securityKeyStates.filter(isTerminal)), { minLength: 1 });
    forAll(fc.tuple(ended, fc.constantFrom("received" as const, "started" as const)), ([states, current]) => {
      const kinds = new Set(states);
      const some = kinds.has("complete") || kinds.has("partial");
      const all = kinds.size === 1 && kinds.has("complete");
      const expected = all ? "complete" : some ? "partial" : kinds.has("failed") ? "failed" : "cancelled";
      expect(rollUpRequest(current, states)).toBe(expected);
    });
  });

  it("does not depend on the order of items and authenticators", () => {
    forAll(shuffled(keys), ([a, b]) => {
      expect(rollUpRequest("started", b)).toBe(rollUpRequest("started", a));
    });
  });

  it("is the roll-up of all credentials where every key has one", () => {
    forAll(credentials, states => {
      const whole = rollUpSecurityKey(states);
      const request = rollUpRequest(
        "started",
        states.map(state => rollUpSecurityKey([state])),
      );
      expect(request).toBe(whole === "processing" ? "started" : whole);
    });
  });

  it("needs a key", () => {
    expect(() => rollUpRequest("started", [])).toThrow();
  });
});

describe("start of a request", () => {
  it("leads from received to started", () => {
    expect(startRequest("received")).toBe("started");
  });

  it("happens once, and never to one that has ended", () => {
    for (const state of requestStates.filter(state => state !== "received")) {
      expect(() => startRequest(state)).toThrow(`a request that is ${state} cannot be started`);
    }
  });
});
