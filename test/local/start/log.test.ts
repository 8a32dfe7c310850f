import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { consoleUserAgent } from "../../../commands/console/calls.ts";
import { createLocalLog, type LogMode, logMode } from "../../../local/start/log.ts";

/** Runs `work` with a log. Returns what it writes, without the times of pretty lines. */
async function logged(
  mode: LogMode,
  work: (log: ReturnType<typeof createLocalLog>) => unknown,
): Promise<{ stdout: string; stderr: string }> {
  const texts = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _, done) {
        texts[name] += String(chunk);
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const now = () => new Date(0);
  await work(createLocalLog(mode, { stdout: stream("stdout"), stderr: stream("stderr"), now }));
  const withoutTime = (text: string) => text.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, "");
  return { stdout: withoutTime(texts.stdout), stderr: withoutTime(texts.stderr) };
}

function request(method: string, url: string, userAgent = "curl"): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method, url, headers: { "user-agent": userAgent } });
}

const stateEvent =
  '{"event":"request_state","requestId":"r","credentialRequestId":"c-1","state":"started","from":"received"}';
const httpEvent = '{"event":"http","api":"core","route":"GET /users","status":200}';

describe("the log mode", () => {
  test("is pretty on a terminal, json elsewhere, and otherwise that of the option", () => {
    expect(logMode(undefined, true)).toBe("pretty");
    expect(logMode(undefined, false)).toBe("json");
    expect(logMode("quiet", true)).toBe("quiet");
    expect(() => logMode("loud", true)).toThrow("--log must be json, pretty, quiet. For help: npm start -- --help");
  });
});

describe("the pretty log", () => {
  test("has one line for a call, with path, status and duration, without the query", async () => {
    const { stdout } = await logged("pretty", log =>
      log.observe(request("GET", "/client/authenticate?password=secret"), async () => {
        log.line("info", httpEvent);
        return { status: 403 };
      }),
    );
    expect(stdout).toMatch(/^GET {2}\/client\/authenticate +403 {2}\d+ ms\n$/);
  });

  test("hides reads by the console, and shows what it changes", async () => {
    const { stdout } = await logged("pretty", async log => {
      await log.observe(request("GET", "/v2/status", consoleUserAgent), async () => ({ status: 200 }));
      await log.observe(request("POST", "/v2/credential-requests", consoleUserAgent), async () => ({ status: 201 }));
    });
    expect(stdout).toMatch(/^POST \/v2\/credential-requests +201 .*\n$/);
  });

  test.each([
    [stateEvent, "request c-1  received → started\n"],
    [
      '{"event":"job","job":"processShipments","trigger":"timer","invocationId":"i","answered":1,"left":0}',
      "job processShipments (timer): answered 1, left 0\n",
    ],
    ["{not JSON", "{not JSON\n"],
  ])("has one line for an event: %s", async (event, expected) => {
    expect((await logged("pretty", log => log.line("info", event))).stdout).toBe(expected);
  });

  test("shows an error with its causes", async () => {
    const error = {
      name: "Error",
      message: "no answer",
      stack: "Error\n    at one (a.ts:1)",
      cause: { name: "E", message: "refused" },
    };
    const { stderr } = await logged("pretty", log => log.line("error", JSON.stringify({ event: "failed", error })));
    expect(stderr).toBe("error  failed\n    Error: no answer\n      at one (a.ts:1)\n    E: refused\n");
  });
});

describe("another log", () => {
  test("has warnings and errors only, if it is quiet", async () => {
    const { stdout, stderr } = await logged("quiet", async log => {
      log.line("info", stateEvent);
      log.line("warn", '{"event":"mail_failed","keyId":"k"}');
      await log.observe(request("GET", "/"), async () => ({ status: 500 }));
    });
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "warn  mail_failed  keyId=k\n" });
  });

  test("has every event with time and level, and other text as an event, in JSON, and no reads by the console", async () => {
    const { stdout } = await logged("json", async log => {
      await log.observe(request("GET", "/core/users", consoleUserAgent), async () => {
        log.line("info", httpEvent);
        return { status: 200 };
      });
      log.line("info", stateEvent);
      log.line("info", "text");
    });
    const [first, second] = stdout
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(first).toEqual({ time: "1970-01-01T00:00:00.000Z", level: "info", ...JSON.parse(stateEvent) });
    expect(second).toMatchObject({ event: "console", text: "text" });
  });
});
