import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withLogFields } from "../../../lib/platform/log.ts";
import { masked } from "../../../local/console/recording/mask.ts";
import { recordCalls } from "../../../local/console/recording/record-calls.ts";
import { createTimeline } from "../../../local/console/timeline.ts";

const line = (event: string, fields: object) => JSON.stringify({ event, ...fields });

test("a create's calls belong to its request, though they come before its id", () => {
  const timeline = createTimeline(undefined);
  timeline.addLine("Host started");
  timeline.addLine(line("peer_call", { requestId: "call", method: "POST" }));
  timeline.addLine(line("peer_call", { requestId: "other call" }));
  timeline.addLine(line("request_state", { requestId: "call", credentialRequestId: "1", state: "received" }));
  timeline.addLine(line("http", { requestId: "call", status: 201 }));
  timeline.addLine(
    line("request_state", { requestId: "job", credentialRequestId: "1", from: "received", state: "started" }),
  );
  timeline.addLine(line("peer_call", { requestId: "job", credentialRequestId: "2" }));
  expect(timeline.of("1").map(({ event }) => event)).toEqual(["peer_call", "request_state", "http", "request_state"]);
  expect(timeline.of("2")).toHaveLength(1);
});

test("keeps at most 500 lines of calls whose request is not known yet", () => {
  const timeline = createTimeline(undefined);
  for (const count of Array(501).keys()) timeline.addLine(line("peer_call", { requestId: "call", count }));
  timeline.addLine(line("request_state", { requestId: "call", credentialRequestId: "1", state: "received" }));
  const events = timeline.of("1");
  expect([events.length, events[0]?.fields.count]).toEqual([501, 1]);
});

test("a timeline outlives the console, and keeps its last 3000 events", () => {
  const directory = mkdtempSync(join(tmpdir(), "timeline-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "timeline.json");
  const timeline = createTimeline(path);
  for (let count = 0; count < 3100; count++) timeline.add("1", "event", { count });
  timeline.close();
  const kept = createTimeline(path).of("1");
  expect([kept.length, kept[0]?.fields.count, kept.at(-1)?.fields.count]).toEqual([3000, 100, 3099]);
});

test("secrets are masked and long texts are cut in bodies of JSON and of forms", () => {
  const jwe = `eyJhbGciOiJSU0EifQ.${"a".repeat(500)}.b.c.d`;
  const body = {
    access_token: "a",
    client_secret: "b",
    pin: "1234",
    pin_request: { length: 6 },
    items: [jwe, "x".repeat(500)],
  };
  const text = masked(JSON.stringify(body));
  expect(JSON.parse(text)).toEqual({
    access_token: "•••",
    client_secret: "•••",
    pin: "•••",
    pin_request: { length: 6 },
    items: ["eyJhbGciOiJS… (525 characters)", `${"x".repeat(120)}… (500 characters)`],
  });
  expect(masked("grant_type=client_credentials&client_secret=a%20b")).toBe(
    "grant_type=client_credentials&client_secret=•••",
  );
  expect(masked("x".repeat(10_000)).length).toBeLessThan(3100);
  expect(masked(JSON.stringify(Array(1000).fill("short"))).length).toBeLessThan(3100);
});

test("a call is recorded with the log fields of its caller, and its caller gets the whole response", async () => {
  const lines: string[] = [];
  const answer = new Response(JSON.stringify({ access_token: "secret", a: 1 }), { status: 201 });
  const fetch = recordCalls(
    async () => answer,
    line => lines.push(line),
  );
  const response = await withLogFields({ credentialRequestId: "1" }, () =>
    fetch("http://peer.example/x", {
      method: "POST",
      headers: { authorization: "Bearer secret" },
      body: '{"password":"secret"}',
    }),
  );
  expect(await response.json()).toEqual({ access_token: "secret", a: 1 });
  await expect.poll(() => lines.length).toBe(1);
  expect(lines[0]).not.toContain('"secret');
  expect(lines[0]).not.toContain("Bearer");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    event: "peer_call",
    credentialRequestId: "1",
    method: "POST",
    url: "http://peer.example/x",
    authorized: true,
    request: '{"password":"•••"}',
    status: 201,
    response: '{"access_token":"•••","a":1}',
  });
});

test("the start of a long response is recorded, and its caller gets the whole", async () => {
  const lines: string[] = [];
  let sent = 0;
  const answer = () => {
    const body = new ReadableStream({
      pull: stream => {
        if (sent++ < 200) stream.enqueue(new Uint8Array(1000).fill(97));
        else stream.close();
      },
    });
    return new Response(body);
  };
  const fetch = recordCalls(
    async () => answer(),
    text => lines.push(text),
  );
  const response = await fetch("http://peer.example/");
  await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(1);
  // The record does not wait for the rest.
  expect(sent).toBeLessThan(100);
  expect((await response.text()).length).toBe(200_000);
});

test("a call that fails is recorded with its reason, and rejects as before", async () => {
  const timeline = createTimeline(undefined);
  const failure = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
  const fetch = recordCalls(() => Promise.reject(failure), timeline.addLine);
  const call = withLogFields({ credentialRequestId: "1" }, () => fetch("http://peer.example/"));
  await expect(call).rejects.toBe(failure);
  expect(timeline.of("1")[0]?.fields).toMatchObject({ failure: "connect ECONNREFUSED" });
});
