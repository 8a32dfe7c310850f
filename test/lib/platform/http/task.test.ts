import { describe, expect, it } from "vitest";
import * as z from "zod";
import { Fault } from "../../../../lib/platform/fault.ts";
import { serveTask, type Task, task, taskTemplate } from "../../../../lib/platform/http/task.ts";
import { createLog } from "../../../../lib/platform/log.ts";

const lines: string[] = [];
const log = createLog((_, line) => lines.push(line));
const events = () => lines.splice(0).map(line => JSON.parse(line));

const counting = task({
  input: z.object({ most: z.int().positive().optional() }).strict(),
  run: async ({ most = 10 }, { rows }: { rows: number }) => ({ counted: Math.min(most, rows) }),
});

const call = (body: string, headers: Record<string, string> = {}, query = "") => ({
  method: "POST",
  url: new URL(`https://core.example/maintenance/auth/count${query}`),
  params: {},
  headers: new Headers(headers),
  invocationId: "invocation-1",
  body: new TextEncoder().encode(body),
});

const served = (of: Task<{ rows: number }>) =>
  serveTask("count", of, { deps: { rows: 30 }, log, strictTransport: false });

describe("a task", () => {
  it("is given its input as JSON, none as an empty object, and answers and logs its report", async () => {
    expect(await served(counting)(call(""))).toMatchObject({ status: 200, body: { data: { counted: 10 } } });
    expect(events()).toMatchObject([
      { event: "task_started", task: "count", invocationId: "invocation-1" },
      { event: "task", task: "count", counted: 10 },
    ]);
    expect(await served(counting)(call('{"most":3}'))).toMatchObject({ body: { data: { counted: 3 } } });
  });

  it("returns the lists of its report and logs how long they are, because they have no bound", async () => {
    events();
    const report = { erased: 2, requests: ["r-1", "r-2"], left: [], tables: { users: 3 }, ok: true };
    const listing = task({ input: z.unknown(), run: async () => report });
    expect(await served(listing)(call(""))).toMatchObject({ status: 200, body: { data: report } });
    expect(events().at(-1)).toEqual({
      event: "task",
      task: "count",
      callerKind: "master_key",
      invocationId: "invocation-1",
      requestId: "invocation-1",
      erased: 2,
      requests: 2,
      left: 0,
      tables: { users: 3 },
      ok: true,
    });
  });

  it("is not started with a bad input, and every wrong field is named", async () => {
    events();
    expect(await served(counting)(call('{"most":0}'))).toMatchObject({
      status: 400,
      body: { fields: [{ path: "most" }] },
    });
    expect(await served(counting)(call("{"))).toMatchObject({ status: 400 });
    expect(await served(counting)(call("", { "transfer-encoding": "chunked" }))).toMatchObject({ status: 411 });
    expect(events().map(({ event }) => event)).toEqual(["task_refused", "task_refused", "task_refused"]);
  });

  it("is not started with a query, which a caller may take for the input", async () => {
    events();
    const sent = call("", {}, "?dry_run=true&__proto__=1&code=a-secret");
    const reply = await served(counting)(sent);
    expect(reply).toMatchObject({
      status: 400,
      body: {
        fields: ["dry_run", "__proto__"].map(path => ({
          path,
          reason: "is not known: the call has no parameters",
        })),
      },
    });
    const logged = events();
    expect(logged.map(({ event }) => event)).toEqual(["task_refused"]);
    expect(JSON.stringify([reply, logged])).not.toContain("a-secret");
  });

  it("is started with the master key in its URL, where the host accepts it too", async () => {
    events();
    const reply = await served(counting)(call("", {}, "?code=a-secret"));
    expect(reply).toMatchObject({ status: 200, body: { data: { counted: 10 } } });
    expect(JSON.stringify([reply, events()])).not.toContain("a-secret");
  });

  it("that fails returns no details, and the log has all of them", async () => {
    const failing = task({
      input: z.unknown(),
      run: async () => Promise.reject(new Error("disk on fire")),
    });
    const reply = await served(failing)(call(""));
    expect(reply).toMatchObject({ status: 500, body: { error: "Internal error." } });
    const failed = { event: "task_failed", task: "count", error: { message: "disk on fire" } };
    expect(events().at(-1)).toMatchObject(failed);
  });

  it.each([
    ["conflict", 409],
    ["not_found", 404],
    ["throttled", 429],
    ["idp_refused", 502],
    ["delivery_refused", 502],
    ["unavailable", 503],
  ] as const)("that is refused as %s is answered %d", async (kind, status) => {
    const refusing = task({
      input: z.unknown(),
      run: async () => Promise.reject(new Fault(kind, "No.", { retryAfterSeconds: 2 })),
    });
    const reply = await served(refusing)(call(""));
    expect(reply).toMatchObject({ status, headers: { "retry-after": "2" }, body: { error: "No." } });
  });

  it("is below maintenance, by service and name", () => {
    expect(taskTemplate("connector", "backUp")).toBe("maintenance/connector/back-up");
  });
});
