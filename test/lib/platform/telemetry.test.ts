import { describe, expect, it } from "vitest";
import {
  currentSpan,
  inTrace,
  measure,
  type Span,
  startSpan,
  timed,
  withoutSpan,
} from "../../../lib/platform/telemetry.ts";

/** A tracer that keeps what it records. Its clock advances by a second with each read; its ids count. */
function tracing() {
  const spans: Span[] = [];
  const measured: unknown[] = [];
  let seconds = 0;
  let ids = 0;
  const tracer = {
    sink: {
      span: (span: Span) => void spans.push(span),
      measure: (...args: readonly unknown[]) => void measured.push(args),
    },
    now: () => ++seconds * 1000,
    random: (bytes: number) => new Uint8Array(bytes).fill(++ids),
  };
  return { tracer, spans, measured };
}

const inner = <T>(name: string, work: () => Promise<T>) =>
  timed("job.duration", name, { labels: {}, outcomeOf: () => "ended" }, work);

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const named = (spans: readonly Span[], name: string) => spans.find(span => span.name === name);

describe("a trace (W3C Trace Context)", () => {
  it("continues the caller's span if the caller sends one", async () => {
    const { tracer, spans } = tracing();
    const traceParent = `00-${traceId}-${spanId}-01`;
    await inTrace(tracer, { name: "call", labels: { a: 1 }, traceParent }, async () => {});
    expect(spans).toMatchObject([
      { name: "call", kind: "internal", traceId, parent: { spanId, remote: true }, sampled: true, labels: { a: 1 } },
    ]);
    expect(spans[0]?.spanId).not.toBe(spanId);
  });

  it("is not recorded if the caller's trace is not sampled", async () => {
    const { tracer, spans } = tracing();
    await inTrace(tracer, { name: "call", labels: {}, traceParent: `00-${traceId}-${spanId}-00` }, () =>
      inner("inner", async () => {}),
    );
    expect(spans.map(({ sampled }) => sampled)).toEqual([false, false]);
  });

  it.each([
    undefined,
    "",
    "rubbish",
    `01-${traceId}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
  ])("begins anew where %s was given", async traceParent => {
    const { tracer, spans } = tracing();
    await inTrace(tracer, { name: "call", labels: {}, traceParent }, async () => {});
    expect(spans).toMatchObject([{ kind: "server", traceId: "01".repeat(16), spanId: "02".repeat(8), sampled: true }]);
    expect(spans[0]?.parent).toBeUndefined();
  });

  it("keeps calls that run at once apart", async () => {
    const { tracer, spans } = tracing();
    const call = (name: string) =>
      inTrace(tracer, { name, labels: {} }, async () => {
        await Promise.resolve();
        await inner(`${name} inner`, async () => Promise.resolve());
      });
    await Promise.all([call("a"), call("b")]);
    for (const name of ["a", "b"]) {
      const [outer, inner] = [named(spans, name), named(spans, `${name} inner`)];
      expect(inner?.traceId).toBe(outer?.traceId);
      expect(inner?.parent).toEqual({ spanId: outer?.spanId, remote: false });
    }
    expect(named(spans, "a")?.traceId).not.toBe(named(spans, "b")?.traceId);
  });

  it("does not go on into work outside of it", async () => {
    const { tracer } = tracing();
    await inTrace(tracer, { name: "call", labels: {} }, async () => {
      expect(currentSpan()).toMatchObject({ traceId: "01".repeat(16) });
      expect(withoutSpan(() => currentSpan())).toBeUndefined();
    });
    expect(currentSpan()).toBeUndefined();
  });
});

describe("a span", () => {
  it("fails by the name of what was thrown, never by its message, and the error goes on", async () => {
    const { tracer, spans } = tracing();
    const work = inTrace(tracer, { name: "call", labels: {} }, () =>
      inner("inner", async () => {
        throw new RangeError("token hunter2 was refused");
      }),
    );
    await expect(work).rejects.toThrow("hunter2");
    expect(spans.map(({ error }) => error)).toEqual(["RangeError", "RangeError"]);
    expect(JSON.stringify(spans)).not.toContain("hunter2");
  });

  it("has the labels that it was given meanwhile, and its two times", async () => {
    const { tracer, spans } = tracing();
    await inTrace(tracer, { name: "call", labels: { a: 1 } }, async span => span.label({ a: 2, b: 3 }));
    expect(spans).toMatchObject([{ labels: { a: 2, b: 3 }, startedAt: 1000, endedAt: 2000 }]);
  });

  it("ends once", async () => {
    const { tracer, spans } = tracing();
    await inTrace(tracer, { name: "call", labels: {} }, async span => {
      span.end("503");
      span.end();
    });
    expect(spans).toMatchObject([{ error: "503" }]);
  });

  it("is none where nothing is recorded, and the work runs all the same", async () => {
    expect(startSpan("alone", "client", {})).toBeUndefined();
    const options = { labels: {}, outcomeOf: () => "ok" };
    const work = () => timed("peer.call.duration", "alone", options, async span => span.within(() => 7));
    expect(await work()).toBe(7);
    measure("secret.days_left", 1);
  });
});

describe("a duration", () => {
  const outcomeOf = (ended: object) => ("value" in ended ? "good" : "bad");
  const timing = (work: () => Promise<number>) => {
    const { tracer, spans, measured } = tracing();
    const done = inTrace(tracer, { name: "call", labels: {} }, () =>
      timed("peer.call.duration", "peer", { kind: "client", labels: { peer: "p" }, outcomeOf }, work),
    );
    return { done, spans, measured };
  };

  it("goes into its metric in seconds, with the labels and the outcome of its span", async () => {
    const { done, spans, measured } = timing(async () => 5);
    expect(await done).toBe(5);
    expect(measured).toEqual([["peer.call.duration", 1, { peer: "p", outcome: "good" }]]);
    expect(named(spans, "peer")).toMatchObject({ kind: "client", labels: { peer: "p", outcome: "good" } });
  });

  it("is 0 if the clock is set back meanwhile", async () => {
    const { tracer, measured } = tracing();
    let ms = 10_000;
    const back = { ...tracer, now: () => --ms };
    await inTrace(back, { name: "call", labels: {} }, () => inner("inner", async () => {}));
    expect(measured).toEqual([["job.duration", 0, { outcome: "ended" }]]);
  });

  it("is recorded also if the work fails", async () => {
    const { done, measured } = timing(() => Promise.reject(new Error("no")));
    await expect(done).rejects.toThrow("no");
    expect(measured).toEqual([["peer.call.duration", 1, { peer: "p", outcome: "bad" }]]);
  });
});
