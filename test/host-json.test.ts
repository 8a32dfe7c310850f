import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as z from "zod";

const hostJson = z
  .object({
    functionTimeout: z.string(),
    telemetryMode: z.string(),
    extensions: z.object({
      http: z.object({
        routePrefix: z.string(),
        maxConcurrentRequests: z.number(),
        maxOutstandingRequests: z.number(),
        dynamicThrottlesEnabled: z.boolean(),
      }),
    }),
    logging: z.object({
      logLevel: z.record(z.string(), z.string()),
      applicationInsights: z.object({
        enableQueryStringTracing: z.boolean(),
        samplingSettings: z.object({ excludedTypes: z.string() }),
      }),
    }),
  })
  .parse(JSON.parse(readFileSync("host.json", "utf8")));

describe("host.json", () => {
  it("leaves the paths of the specifications as they are", () => {
    expect(hostJson.extensions.http.routePrefix).toBe("");
  });

  it("leaves it to the app which calls an overloaded host refuses, and bounds only how many are in memory", () => {
    const { maxConcurrentRequests, maxOutstandingRequests, dynamicThrottlesEnabled } = hostJson.extensions.http;
    expect({ maxConcurrentRequests, dynamicThrottlesEnabled }).toEqual({
      maxConcurrentRequests: -1,
      dynamicThrottlesEnabled: false,
    });
    // More than the places for password hashes, each of which keeps a request.
    expect(maxOutstandingRequests).toBeGreaterThan(1000);
  });

  it("lets a restore of a hundred thousand users come to its end, at a thousand calls of storage a second", () => {
    const [hours = 0, minutes = 0, seconds = 0] = hostJson.functionTimeout.split(":").map(Number);
    expect((hours * 60 + minutes) * 60 + seconds).toBeGreaterThanOrEqual((100_000 * (4 + 6)) / 1000);
  });

  it("keeps what the app writes on the console at any level of the rest: the host records its errors as Information", () => {
    expect(hostJson.logging.logLevel["Host.Function.Console"]).toBe("Information");
  });

  it("makes the host a part of the app's traces (docs/telemetry.md)", () => {
    expect(hostJson.telemetryMode).toBe("OpenTelemetry");
  });

  it.each(["Microsoft.AspNetCore", "Microsoft.Azure.WebJobs.Script.WebHost.Middleware"])(
    "has the host log no requests by %s, which would log addresses and queries",
    category => {
      expect(hostJson.logging.logLevel[category]).toBe("Warning");
    },
  );

  it("records no query strings and drops no log event in the other mode of telemetry either", () => {
    const { enableQueryStringTracing, samplingSettings } = hostJson.logging.applicationInsights;
    expect(enableQueryStringTracing).toBe(false);
    expect(samplingSettings.excludedTypes.split(";")).toContain("Trace");
  });
});
