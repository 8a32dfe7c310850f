import { app, type InvocationContext, type Timer } from "@azure/functions";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { type HostOptions, type LocalHost, startHost } from "../../../local/host/host.ts";
import { functionsCoreOfFile } from "../../support/host/functions-core-of-file.ts";
import { call } from "./http/raw-request.ts";

const core = functionsCoreOfFile();
const lines: string[] = [];
let host: LocalHost;

interface Run {
  readonly timer: Timer;
  readonly context: InvocationContext;
}
/** What the functions were called with, and who waits for the next call. */
const runs = new Map<string, Run[]>();
const of = (name: string) => runs.get(name) ?? [];
let arrived: () => void = () => {};
const until = async (condition: () => boolean) => {
  while (!condition()) {
    await new Promise<void>(resolve => {
      arrived = resolve;
    });
  }
};

/** What each function does, set by the tests. */
const behaviour: Record<string, (run: number) => unknown> = {};

const start = async (options: Partial<HostOptions> = {}) => {
  runs.clear();
  lines.length = 0;
  host = await startHost(core, { port: 0, env: {}, log: (...line) => lines.push(line.join(" ")), ...options });
};

beforeAll(() => {
  const register = (name: string, options: Omit<Parameters<typeof app.timer>[1], "handler">) =>
    app.timer(name, {
      ...options,
      handler: (timer, context) => {
        const list = [...of(name), { timer, context }];
        runs.set(name, list);
        arrived();
        return behaviour[name]?.(list.length) as undefined;
      },
    });
  register("hourly", { schedule: "0 0 * * * *" });
  register("by-setting", { schedule: "%Tick_Schedule%" });
  register("every-second", { schedule: "* * * * * *" });
  register("unresolved", { schedule: "%NO_SUCH%" });
  register("bad-cron", { schedule: "soon" });
  register("on-start", { schedule: "0 0 0 1 1 *", runOnStartup: true });
  register("unmonitored", { schedule: "0 0 * * * *", useMonitor: false });
  register("retried", {
    schedule: "0 0 0 1 1 *",
    retry: { strategy: "fixedDelay", maxRetryCount: 2, delayInterval: 0 },
  });
  app.http("other", { handler: () => ({}) });
});
afterEach(async () => {
  await host.stop();
  for (const name of Object.keys(behaviour)) delete behaviour[name];
});

describe("a timer's schedule", () => {
  it("comes from a setting, and the log lists the next occurrences in UTC", async () => {
    await start({ env: { TICK_SCHEDULE: "0 30 4 1 1 *" } });
    expect(lines.find(line => line.includes("'by-setting'"))).toMatch(/\(UTC\): (\d{4}-01-01T04:30:00\.000Z(, |$)){5}/);
    await host.run("by-setting");
    expect(of("by-setting")[0]?.timer.scheduleStatus.next).toMatch(/-01-01T04:30:00\.000Z$/);
  });

  it("disables only its own function if it is invalid", async () => {
    await start();
    expect(host.functions).toEqual(["every-second", "hourly", "on-start", "other", "retried", "unmonitored"]);
    expect(lines).toContain(
      "error Host.Startup The 'unresolved' function is in error: '%NO_SUCH%' does not resolve to a value.",
    );
    expect(lines).toContain(
      "error Host.Startup The 'bad-cron' function is in error: The expression 'soon' was not recognized as a valid cron expression or timespan string.",
    );
    expect((await call(host, "/api/other")).status).toBe(200);
  });

  it("does not run if timers are off or the function is disabled, except on demand", async () => {
    await start({ timers: false });
    await call(host, "/api/other");
    expect(of("on-start")).toEqual([]);
    await host.run("on-start");
    expect(of("on-start")).toHaveLength(1);
    await host.stop();
    await start({ env: { "AzureWebJobs.on-start.Disabled": "1" } });
    await call(host, "/api/other");
    expect(of("on-start")).toEqual([]);
    await host.run("ON-START");
    expect(of("on-start")).toHaveLength(1);
  });
});

describe("a timer's argument", () => {
  it("has the schedule's status, with the smallest time as last run at first", async () => {
    await start();
    const startedAt = Date.now();
    await host.run("hourly");
    const { timer } = of("hourly")[0] ?? {};
    expect(timer).toEqual({
      schedule: { adjustForDST: true },
      scheduleStatus: { last: "0001-01-01T00:00:00", next: expect.any(String), lastUpdated: expect.any(String) },
      isPastDue: false,
    });
    expect(timer?.scheduleStatus.next).toBe(new Date(Math.ceil(startedAt / 3_600_000) * 3_600_000).toISOString());
  });

  it("has no status if the timer runs more than once a minute or does not monitor it", async () => {
    await start();
    await host.run("every-second");
    await host.run("unmonitored");
    expect([of("every-second")[0], of("unmonitored")[0]].map(run => run?.timer.scheduleStatus)).toEqual([null, null]);
  });
});

describe("a run", () => {
  it("on start starts before the first request", async () => {
    await start();
    await call(host, "/api/other");
    expect(of("on-start")).toHaveLength(1);
    expect(lines.join("\n")).toContain("UnscheduledInvocationReason: RunOnStartup");
  });

  it("with fixed-delay retries is repeated under one invocation id", async () => {
    behaviour.retried = () => {
      throw new Error("not yet");
    };
    await start();
    await expect(host.run("retried")).rejects.toThrow("not yet");
    expect(of("retried").map(({ context }) => context.retryContext)).toEqual(
      [0, 1, 2].map(retryCount => ({ retryCount, maxRetryCount: 2 })),
    );
    expect(new Set(of("retried").map(({ context }) => context.invocationId)).size).toBe(1);
    behaviour.retried = run => {
      if (run === 4) throw new Error("once more");
    };
    await host.run("retried");
    expect(of("retried")).toHaveLength(5);
  });

  it("that throws is logged as failed, and the schedule continues", async () => {
    behaviour["every-second"] = run => {
      if (run === 1) throw new Error("first run fails");
    };
    await start();
    await until(() => of("every-second").length === 2);
    expect(lines.join("\n")).toMatch(
      /error Function\.every-second Executed 'Functions\.every-second' \(Failed.*first run fails/,
    );
  });

  it("on demand rejects with the function's own error, and for an unknown name", async () => {
    const error = new Error("mine");
    behaviour.hourly = () => {
      throw error;
    };
    await start();
    await expect(host.run("hourly")).rejects.toBe(error);
    await expect(host.run("nobody")).rejects.toThrow('No timer function is named "nobody".');
    await expect(host.run("other")).rejects.toThrow('No timer function is named "other".');
    await host.stop();
    await expect(host.run("hourly")).rejects.toThrow("The host is stopped.");
  });
});
