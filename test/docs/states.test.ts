import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deliveryStates } from "../../lib/connector/model/shipment.ts";
import {
  credentialStates,
  credentialTransitions,
  isTerminal,
  requestStates,
  revocationStates,
  rollUpRequest,
  rollUpSecurityKey,
  securityKeyStates,
  startRequest,
  transition,
} from "../../lib/connector/model/states.ts";

const page = readFileSync("docs/states.md", "utf8");

/** The text below a heading. */
const section = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";

/** The arrows of a diagram as texts, one for each event of a label. */
const arrowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^ {2}(\S+) --> (\S+?)(?:: (.+))?$/gm)].flatMap(([, from, to, events]) =>
    (events ?? "").split(", ").map(event => `${from} ${to} ${event}`.trim()),
  );

/** The rows of the first table with two columns that begins with this header. */
const rowsOf = (text: string): readonly (readonly [string, string])[] =>
  [...text.matchAll(/^\| (.+) \| (.+) \|$/gm)].map(([, first = "", second = ""]) => [first, second] as const).slice(1);

/** Every combination of terminal states that can occur side by side. */
function mixesOf<S extends Parameters<typeof isTerminal>[0]>(states: readonly S[]): readonly (readonly S[])[] {
  const terminal = states.filter(isTerminal);
  return terminal.reduce<S[][]>((found, state) => found.concat(found.map(mix => [...mix, state])), [[]]).slice(1);
}

/** Returns the state that the rows of a section give to a combination. */
function ruledBy(text: string, mix: readonly string[]): string | undefined {
  const row = rowsOf(text).find(([rule]) => {
    const named = [...rule.matchAll(/`(\w+)`/g)].map(([, state]) => state);
    if (rule.startsWith("all ")) return mix.every(state => named.includes(state));
    return rule === "others" || (rule.startsWith("some ") && mix.some(state => named.includes(state)));
  });
  return row?.[1].replaceAll("`", "");
}

describe("docs/states.md", () => {
  it("shows every transition of a credential, and explains every event", () => {
    const expected = credentialStates.flatMap(from =>
      Object.entries(credentialTransitions[from]).map(([event, to]) => `${from} ${to} ${event}`),
    );
    const ends = credentialStates.filter(isTerminal).map(state => `${state} [*]`);
    expect([...arrowsOf(section("Credential"))].sort()).toEqual(["[*] processing", ...expected, ...ends].sort());
    const events = new Set(credentialStates.flatMap(from => Object.keys(credentialTransitions[from])));
    expect(
      rowsOf(section("Credential"))
        .map(([event]) => event.replaceAll("`", ""))
        .sort(),
    ).toEqual([...events].sort());
  });

  it("shows every state of a request, and every transition", () => {
    const diagram = section("Request").split("```")[1] ?? "";
    for (const state of requestStates) expect(diagram).toMatch(new RegExp(`--> ${state}\\b`));
    const shown = [...diagram.matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`);
    const ends = ["complete", "partial", "failed", "cancelled"].map(state => `started ${state}`);
    const ended = (event: "request_failed" | "cancelled") => rollUpSecurityKey([transition("processing", event)]);
    const before = [
      startRequest("received"),
      rollUpRequest("received", [ended("request_failed")]),
      rollUpRequest("received", [ended("cancelled")]),
      rollUpRequest("received", ["complete", ended("request_failed")]),
    ].map(to => `received ${to}`);
    expect(shown).toEqual([...before, "started received", ...ends]);
  });

  it("gives each combination of credentials the state of the security key that the code gives it", () => {
    const mixes = mixesOf(credentialStates);
    expect(mixes).toHaveLength(7);
    for (const mix of mixes) expect(ruledBy(section("Security key"), mix), mix.join()).toBe(rollUpSecurityKey(mix));
  });

  it("gives each combination of security keys the state of the request that the code gives it", () => {
    const mixes = mixesOf(securityKeyStates);
    expect(mixes).toHaveLength(15);
    for (const mix of mixes) expect(ruledBy(section("Request"), mix), mix.join()).toBe(rollUpRequest("started", mix));
  });

  it("names the states of revocations and deliveries", () => {
    for (const state of revocationStates) expect(section("Revocation")).toContain(`\`${state}\``);
    const shown = rowsOf(section("Delivery")).map(([state]) => state.replaceAll("`", ""));
    expect(shown).toEqual([...deliveryStates]);
  });
});
