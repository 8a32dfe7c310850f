import { describe, expect, it } from "vitest";
import { createLog, type Level, withLogFields } from "../../../lib/platform/log.ts";

const secret = "hunter2-hunter2";

const collected = (threshold?: Level) => {
  const lines: [Level, string][] = [];
  return { lines, log: createLog((level, line) => lines.push([level, line]), threshold) };
};
/** What is logged of something that was thrown. */
const loggedOf = (error: unknown) => {
  const { lines, log } = collected();
  log.error("failed", { error });
  const [, line = "{}"] = lines[0] ?? [];
  return { line, error: JSON.parse(line).error };
};

describe("the log", () => {
  it("cuts a text of more than 4096 characters, also in an error, which may quote a peer", () => {
    const long = "x".repeat(1_000_000);
    const { error } = loggedOf(new Error(long, { cause: new Error(long) }));
    for (const text of [error.message, error.stack, error.cause.message]) expect(text).toHaveLength(4103);
    const { lines, log } = collected();
    log.info("sample", { text: long, list: [long], short: "x".repeat(4096) });
    expect(lines[0]?.[1].length).toBeLessThan(13_000);
    expect(lines[0]?.[1]).toContain(`"short":"${"x".repeat(4096)}"`);
  });

  it("is one line of JSON an event", () => {
    const { lines, log } = collected();
    log.info("started", { count: 1, text: "two\nlines", gone: undefined });
    expect(lines).toEqual([["info", '{"event":"started","count":1,"text":"two\\nlines"}']]);
  });

  it("omits lines below the configured level", () => {
    for (const [index, threshold] of (["info", "warn", "error"] as const).entries()) {
      const { lines, log } = collected(threshold);
      for (const level of ["info", "warn", "error"] as const) log[level](level);
      expect(lines.map(([level]) => level)).toEqual(["info", "warn", "error"].slice(index));
    }
  });

  it("carries the ids of the call in every line of it, nested ones too, and of no other", async () => {
    const { lines, log } = collected();
    const call = (requestId: string) =>
      withLogFields({ requestId }, async () => {
        await Promise.resolve();
        withLogFields({ job: "j" }, () => log.info("inner"));
        log.info("outer", { own: 1 });
      });
    await Promise.all([call("a"), call("b")]);
    log.info("outside");
    expect(lines.map(([, line]) => JSON.parse(line))).toEqual([
      { event: "inner", requestId: "a", job: "j" },
      { event: "outer", requestId: "a", own: 1 },
      { event: "inner", requestId: "b", job: "j" },
      { event: "outer", requestId: "b", own: 1 },
      { event: "outside" },
    ]);
  });
});

describe("an error in the log", () => {
  it("is logged with its causes", () => {
    const error = new TypeError("what", {
      cause: Object.assign(new Error("why"), { code: "ECONNRESET", statusCode: 503 }),
    });
    expect(loggedOf(error).error).toMatchObject({
      name: "TypeError",
      message: "what",
      stack: expect.stringContaining("log.test.ts"),
      cause: { name: "Error", message: "why", code: "ECONNRESET", statusCode: 503 },
    });
  });

  it.each<[string, unknown]>([
    [
      "fields that foreign code gave it",
      Object.assign(new Error("m"), { request: { headers: { authorization: secret } }, config: secret }),
    ],
    ["fields of its cause", new Error("m", { cause: Object.assign(new Error("c"), { response: { body: secret } }) })],
    ["a cause that is no error", new Error("m", { cause: { authorization: secret } })],
    ["a cause that is text", new Error("m", { cause: secret })],
    ["errors beside it", new AggregateError([new Error(secret)], "m")],
    ["its own way to JSON", Object.assign(new Error("m"), { toJSON: () => ({ headers: secret }) })],
    ["a code that is no word", Object.assign(new Error("m"), { code: { token: secret } })],
    ["text that could not be parsed", parseError(`{"d":${secret}`)],
    ["text that its cause could not parse", new Error("m", { cause: parseError(secret) })],
    ["something thrown that is no error", { token: secret }],
    ["thrown text", secret],
  ])("does not hold %s", (_, error) => {
    const { line } = loggedOf(error);
    expect(line).not.toContain("hunter2");
    expect(line).toContain('"event":"failed"');
  });

  it("is not serialised by its own toJSON, in any field", () => {
    const { lines, log } = collected();
    log.warn("failed", { reason: Object.assign(new Error("m"), { toJSON: () => ({ headers: secret }) }) });
    expect(lines[0]?.[1]).toContain('"message":"m"');
    expect(lines[0]?.[1]).not.toContain(secret);
  });

  it("is written although its causes run in a circle", () => {
    const error = new Error("m");
    error.cause = new Error("c", { cause: error });
    expect(loggedOf(error).error).toMatchObject({ message: "m", cause: { message: "c" } });
  });
});

function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}
