import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../lib/connector/api/v2/create-credential-request.ts";
import type { Facts } from "../../../local/start/run-file.ts";
import { sampleRequest } from "../../../local/start/sample-request.ts";
import { peersWelcome, welcome } from "../../../local/start/welcome.ts";

const facts: Facts = {
  host: "http://127.0.0.1:7071",
  tokens: { core: "core_1", connector: "connector_2" },
  storage: "AccountName=a;BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:2/a",
  peers: { vault: "http://127.0.0.1:3", mail: "http://127.0.0.1:4" },
  pid: 1,
  masterKey: "k",
};

describe("what a newcomer reads", () => {
  test("names every address, token and file", () => {
    const text = welcome(facts, { path: "/tmp/run.json", moved: [] });
    for (const port of [7071, 1, 2, 3, 4]) expect(text).toContain(`http://127.0.0.1:${port}`);
    for (const word of ["core_1", "connector_2", "/tmp/run.json"]) expect(text).toContain(word);
    expect(text).not.toContain("Your own settings");
  });

  test("has three lines to paste, each with all that it needs", () => {
    const lines = welcome(facts, { path: "", moved: [] })
      .split("\n")
      .filter(line => line.startsWith("curl "));
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).not.toContain("$");
    expect(lines.filter(line => line.includes("Bearer connector_2"))).toHaveLength(2);
  });

  test("says which settings are not the local system's", () => {
    expect(welcome(facts, { path: "", moved: ["IDPA_GRAPH_ENDPOINT", "PIN"] })).toContain(
      "Your own settings stand instead of the local system's: IDPA_GRAPH_ENDPOINT, PIN.",
    );
  });

  test("has the settings file where there is no host", () => {
    const system = { tokens: facts.tokens, peerUrls: facts.peers, connectionString: facts.storage };
    const text = peersWelcome(system, "/tmp/local.settings.json");
    for (const word of ["http://127.0.0.1:3", "connector_2", "/tmp/local.settings.json"]) expect(text).toContain(word);
  });
});

test("the request to paste is a good one", () => {
  expect(createBodyV2.safeParse(sampleRequest).success).toBe(true);
});
