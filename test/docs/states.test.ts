import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  credentialStates,
  credentialTransitions,
  requestStates,
  securityKeyStates,
} from "../../lib/connector/model/states.ts";
import { statesFile } from "../../local/generate/states-file.ts";

describe("docs/states.md", () => {
  const written = readFileSync("docs/states.md", "utf8");

  it("is what `npm run settings` generates from the transitions", () => {
    expect(statesFile()).toEqual({ "docs/states.md": written });
  });

  it("shows every transition of a credential", () => {
    const diagram = /## Credential\n\n```mermaid\n([\s\S]*?)```/.exec(written)?.[1] ?? "";
    const shown = [...diagram.matchAll(/^ {2}(\w+) --> (\w+): (.+)$/gm)].flatMap(([, from, to, events = ""]) =>
      events.split(", ").map(event => [from, event, to].join(" ")),
    );
    const expected = credentialStates.flatMap(from =>
      Object.entries(credentialTransitions[from]).map(([event, to]) => [from, event, to].join(" ")),
    );
    expect(shown.sort()).toEqual(expected.sort());
    expect(shown.length).toBeGreaterThan(5);
  });

  it("shows every state in the diagram of its subject", () => {
    const diagrams = [...written.matchAll(/```mermaid\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    expect(diagrams).toHaveLength(3);
    for (const [index, states] of [credentialStates, securityKeyStates, requestStates].entries())
      for (const state of states) expect(diagrams[index]).toMatch(new RegExp(`--> ${state}\\b`));
  });

  it("shows every transition of a request before its start, and the one back to it", () => {
    const [, , diagram = ""] = [...written.matchAll(/```mermaid\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    const shown = [...diagram.matchAll(/^ {2}(\w+) --> (\w+): /gm)].map(([, from, to]) => `${from} ${to}`);
    const expected = [
      "received started",
      "received failed",
      "received cancelled",
      "received partial",
      "started received",
    ];
    expect(shown).toEqual(expected);
  });

  it("has a row for each combination of terminal states", () => {
    expect(written.match(/^\| .+ \| `(complete|partial|failed|cancelled)` \|$/gm)).toHaveLength(7 + 15);
  });
});
