import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../lib/connector/api/body-to-draft.ts";
import { banner, peersBanner } from "../../../local/start/banner.ts";
import type { Facts } from "../../../local/start/run-file.ts";
import { sampleRequest } from "../../../local/start/sample-request.ts";

const facts: Facts = {
  host: "http://127.0.0.1:7071",
  tokens: { core: "core_1", connector: "connector_2" },
  secrets: { eventSinks: [] },
  storage: "AccountName=a;BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:2/a",
  peers: { vault: "http://127.0.0.1:3", mail: "http://127.0.0.1:4" },
  pid: 1,
  masterKey: "k",
};

const start = { readyMs: 2449, path: "/tmp/run.json", notes: [] };

describe("the banner", () => {
  test("names the console first, then every address and token, and how long the start took", () => {
    const text = banner({ ...facts, console: "http://127.0.0.1:7072" }, start);
    expect(text).toContain("ready in 2.4 s");
    expect(text.match(/http:\S+/g)?.slice(0, 2)).toEqual(["http://127.0.0.1:7072", "http://127.0.0.1:7071"]);
    for (const port of [1, 2, 3, 4]) expect(text).toContain(`http://127.0.0.1:${port}`);
    for (const word of ["core_1", "connector_2", "/tmp/run.json"]) expect(text).toContain(word);
    expect(text).not.toContain("Note:");
  });

  test("describes each peer in a few words", () => {
    expect(banner(facts, start)).toMatch(/^ {2}vault +Key Vault +http:\/\/127\.0\.0\.1:3$/m);
  });

  test("says how to listen to events", () => {
    expect(banner(facts, start)).toMatch(/EVENT_SINK_URLS=\S+ npm start .*docs\/examples\/event-receiver\.mjs/);
  });

  test("has the notes of the start", () => {
    const notes = ["Note: your settings replace those of the local system: POLL_AFTER_SECONDS."];
    expect(banner(facts, { ...start, notes })).toContain(`\n${notes[0]}\n`);
  });

  test("names the settings file if the host is started by another program", () => {
    const text = peersBanner(facts, { ...start, settingsPath: "/tmp/local.settings.json" });
    for (const word of ["http://127.0.0.1:3", "connector_2", "/tmp/local.settings.json"]) expect(text).toContain(word);
  });
});

test("the sample request has a valid body", () => {
  expect(createBodyV2.safeParse(sampleRequest).success).toBe(true);
});
