import { describe, expect, it } from "vitest";
import type { ApiAnswer } from "../../../commands/api.ts";
import { createAsk, ImportStopped } from "../../../commands/import/calls.ts";
import type { Line } from "../../../commands/import/lines.ts";
import { runImport } from "../../../commands/import/run-import.ts";
import { instant } from "../../../lib/platform/time.ts";

const answer = (status: number, headers: Record<string, string> = {}): ApiAnswer => ({
  response: new Response(undefined, { status, headers }),
});
const started = Date.parse("2031-01-01T00:00:00Z");

/** An API that answers these in turn, the last one ever after, and a clock that sleeping moves. */
function simulated(answers: readonly (ApiAnswer | Error)[], untilAwake: Promise<void> = Promise.resolve()) {
  const stop = new AbortController();
  const waited: number[] = [];
  let [now, calls] = [3000, 0];
  const bootedAt = started - now;
  const call = async () => {
    const next = answers[Math.min(calls++, answers.length - 1)];
    if (next === undefined || next instanceof Error) throw next;
    return next;
  };
  const calling = {
    service: "a Core API",
    url: "https://core.example/core",
    stop: stop.signal,
    cut: new AbortController().signal,
    waits: () => {},
  };
  const asking = createAsk(calling, {
    sleep: async ms => {
      waited.push(ms);
      const end = now + ms;
      await untilAwake;
      now = Math.max(now, end);
    },
    random: () => 1,
    now: () => now,
    timeOfDay: () => instant(bootedAt + now),
  });
  return { ask: () => asking(call), stop, waited, calls: () => calls };
}

describe("a call of which an earlier one still runs", () => {
  const running = answer(409, { "retry-after": "5" });

  it("waits for it, however often, and makes no other call wait", async () => {
    const { ask, waited } = simulated([...Array(20).fill(running), answer(201)]);
    expect(await ask()).toMatchObject({ status: 201 });
    expect(waited).toEqual(Array(20).fill(5000));
  });

  it("returns what it is told after the longest time that a call counts as running", async () => {
    const { ask, calls } = simulated([running]);
    expect(await ask()).toMatchObject({ status: 409 });
    expect(calls()).toBe(73);
  });
});

describe("a call that is not answered", () => {
  it("is made again a bounded number of times, more and more patiently", async () => {
    const { ask, waited, calls } = simulated([new Error("core.example is not responding: refused")]);
    await expect(ask()).rejects.toThrow(new ImportStopped("core.example is not responding: refused; tried 6 times"));
    expect(calls()).toBe(6);
    expect(waited).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  it.each([429, 502, 503, 504])("is one that is answered %i", async status => {
    const { ask, calls } = simulated([answer(status), answer(status), answer(201)]);
    expect(await ask()).toMatchObject({ status: 201 });
    expect(calls()).toBe(3);
  });

  it.each([400, 401, 403, 404, 409, 413])("is none that is answered %i", async status => {
    const { ask, calls } = simulated([answer(status)]);
    expect(await ask()).toMatchObject({ status });
    expect(calls()).toBe(1);
  });

  it.each([
    ["7", 7000],
    [new Date(started + 7000).toUTCString(), 7000],
    ["soon", 500],
    ["0", 500],
  ])("waits in all calls as long as Core asks: Retry-After %s", async (text, wait) => {
    const { ask, waited } = simulated([answer(503, { "retry-after": text }), answer(201)]);
    await ask();
    expect(waited).toEqual([wait]);
    // The wait is over for later calls.
    await ask();
    expect(waited).toHaveLength(1);
  });

  it("makes calls wait that have not started", async () => {
    const awake = Promise.withResolvers<void>();
    const { ask, waited, calls } = simulated([answer(429, { "retry-after": "7" }), answer(201)], awake.promise);
    const first = ask();
    while (waited.length === 0) await Promise.resolve();
    const second = ask();
    awake.resolve();
    await Promise.all([first, second]);
    expect(waited).toEqual([7000, 7000]);
    expect(calls()).toBe(3);
  });

  it("ends the run if Core's Retry-After is longer than the run waits", async () => {
    const { ask, waited } = simulated([answer(429, { "retry-after": "3600" })]);
    await expect(ask()).rejects.toThrow("responds with 429, and requests a wait of 3600 s");
    expect(waited).toEqual([]);
  });

  it("is not made again once the run shall end", async () => {
    const { ask, stop, calls } = simulated([answer(503)]);
    stop.abort();
    expect(await ask()).toBeUndefined();
    expect(calls()).toBe(0);
  });
});

describe("a key at which Core fails", () => {
  const lines = Array.from(
    { length: 40 },
    (_, index): Line<number> => ({
      file: "keys.csv",
      line: index + 1,
      item: index + 1,
      outcome: "open",
      reason: "not sent",
    }),
  );
  const running = { parallel: 1, batch: 1, stop: new AbortController().signal, tried: () => {} };

  it("does not keep the others out", async () => {
    const { ask } = simulated([answer(500)]);
    expect(await ask()).toMatchObject({ status: 500 });
    const result = await runImport(lines, {
      ...running,
      batch: 7,
      send: async lines => lines.map(line => ({ outcome: line % 10 === 1 ? "imported" : "failed", reason: "" })),
    });
    expect(result.stopped).toBeUndefined();
    expect(result.lines.filter(({ outcome }) => outcome === "imported")).toHaveLength(4);
    expect(result.lines.filter(({ outcome }) => outcome === "open")).toEqual([]);
  });

  it("ends the run where it is every key, ten in a row", async () => {
    const result = await runImport(lines, { ...running, send: async () => [{ outcome: "failed", reason: "" }] });
    expect(result.stopped).toBe("10 lines in a row failed (500)");
    expect(result.lines.filter(({ outcome }) => outcome === "open")).toHaveLength(30);
  });

  it("keeps what became of the other keys of the call that ends the run", async () => {
    const failed = { outcome: "failed", reason: "" } as const;
    const imported = { outcome: "imported", reason: "" } as const;
    const send = async () => [...Array(10).fill(failed), ...Array(10).fill(imported)];
    const { stopped, lines: results } = await runImport(lines, { ...running, batch: 20, send });
    expect(stopped).toBe("10 lines in a row failed (500)");
    expect(results.map(({ outcome }) => outcome)).toEqual([
      ...Array(10).fill("failed"),
      ...Array(10).fill("imported"),
      ...Array(20).fill("open"),
    ]);
  });

  it("leaves what is under way to end where another key ends the run", async () => {
    const [ends, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const over = runImport(lines, {
      ...running,
      parallel: 2,
      send: async ([line]) => {
        if (line === 1) {
          ends.resolve();
          throw new ImportStopped("over");
        }
        await ends.promise;
        await last.promise;
        return [{ outcome: "imported", reason: "" }];
      },
    });
    await ends.promise;
    last.resolve();
    const { stopped, lines: linesSoFar } = await over;
    expect(stopped).toBe("over");
    expect(linesSoFar.map(({ outcome }) => outcome).slice(0, 3)).toEqual(["open", "imported", "open"]);
  });
});
