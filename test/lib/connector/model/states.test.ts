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
});

/** Returns what ended states come to. */
const endOf = (states: readonly string[], good: string) => {
  if (states.every(state => state === good)) return "complete";
  if (states.includes(good) || states.includes("partial")) return "partial";
  return states.includes("failed") ? "failed" : "cancelled";
};

describe("roll-up", () => {
  it("of a key is processing while a credential is open, then what its credentials came to", () => {
    forAll(fc.array(fc.constantFrom(...credentialStates), { minLength: 1, maxLength: 8 }), states => {
      const expected = states.every(isTerminal) ? endOf(states, "active") : "processing";
      expect(rollUpSecurityKey(states)).toBe(expected);
    });
  });

  it("of a request stays while a key is open or once it has ended, then is what its keys came to", () => {
    const keys = fc.array(fc.constantFrom(...securityKeyStates), { minLength: 1, maxLength: 8 });
    forAll(fc.tuple(fc.constantFrom(...requestStates), keys), ([current, states]) => {
      const stays = isTerminal(current) || !states.every(isTerminal);
      expect(rollUpRequest(current, states)).toBe(stays ? current : endOf(states, "complete"));
    });
  });

  it("needs a credential or key", () => {
    expect(() => rollUpSecurityKey([])).toThrow();
    expect(() => rollUpRequest("started", [])).toThrow();
  });
});

describe("start of a request", () => {
  it.each(requestStates)("leads only from received to started: %s", state => {
    if (state === "received") expect(startRequest(state)).toBe("started");
    else expect(() => startRequest(state)).toThrow(`a request that is ${state} cannot be started`);
  });
});
