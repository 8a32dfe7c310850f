import type { TokenCredential } from "@azure/identity";
import { withTimeout } from "../async.ts";
import type { Level, WriteLine } from "../log.ts";
import { currentSpan, type Labels, type TelemetrySink, withoutSpan } from "../telemetry.ts";
import { azureMonitorExporters, otlpExporters } from "./exporters.ts";
import type { TelemetrySdk } from "./telemetry-sdk.ts";

interface TelemetryOptions {
  /** Connection string of Application Insights. */
  readonly connectionString?: string | undefined;
  /** The app's identity, if Application Insights requires it. */
  readonly credential?: TokenCredential | undefined;
  /** Base URL of the OTLP endpoint, without the path of a signal. */
  readonly otlpEndpoint?: string | undefined;
  /** Identifies this process. */
  readonly resource: Labels;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Writes the line that reports lost telemetry. */
  readonly writeLine: WriteLine;
  /** Replaces constants of `telemetryLimits`. */
  readonly limits?: Partial<typeof telemetryLimits>;
}

export interface Telemetry extends TelemetrySink {
  /** Sends a finished log line. */
  readonly writeLine: WriteLine;
  /** Sends all queued data. Resolves within 5 s, also if that fails, and after a failure within 1 s. */
  flush(): Promise<void>;
  /**
   * Sends all queued data and stops sending. Resolves within 2 s, also if that fails: the stop of the app waits for it.
   */
  close(): Promise<void>;
}

/** Delays the loading of OpenTelemetry until after the first response. */
const loadDelayMs = 1000;
/** Maximum number of queued items while OpenTelemetry is loading; further items are dropped. */
const maxWaiting = 10_000;

/**
 * Time limits in milliseconds, each for all signals together: OpenTelemetry tries a dead endpoint again for 10 s and
 * more.
 */
const telemetryLimits = {
  flushMs: 5000,
  /** The stop of the app waits for it. */
  closeMs: 2000,
  /**
   * After a failure: a dead endpoint must not delay every run of a timer, and the stop once more after the runs in
   * flight.
   */
  afterFailureMs: 1000,
};

/**
 * Opens the sink that sends spans, metrics and log events to Application Insights, to an OTLP endpoint, or both.
 * Returns undefined if neither is configured. Loads OpenTelemetry a second after the first item.
 */
export function openTelemetry(options: TelemetryOptions): Telemetry | undefined {
  if (options.connectionString === undefined && options.otlpEndpoint === undefined) return undefined;
  const lost = createLossReporter(options.writeLine, options.now);
  const { flushMs, closeMs, afterFailureMs } = { ...telemetryLimits, ...options.limits };
  let hasFailed = false;
  let waiting: ((sdk: TelemetrySdk) => void)[] = [];
  let sdk: TelemetrySdk | undefined;
  let loading: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const connectAndSend = async () => {
    clearTimeout(timer);
    try {
      sdk = await connect(options, lost);
      for (const take of waiting) take(sdk);
    } catch (error) {
      lost(error instanceof Error ? error.message : "not loaded");
    }
    waiting = [];
  };
  const load = () => {
    loading ??= connectAndSend();
    return loading;
  };
  // Outside of any trace: otherwise timers and requests that start here would belong to the trace of the first call.
  const enqueue = (take: (sdk: TelemetrySdk) => void): void =>
    withoutSpan(() => {
      if (sdk !== undefined) take(sdk);
      else if (waiting.length < maxWaiting) waiting.push(take);
      else lost("more telemetry than can wait for OpenTelemetry");
      if (loading === undefined) timer ??= setTimeout(load, loadDelayMs);
    });
  const withLimit = (timeoutMs: number, work: (loaded: TelemetrySdk) => Promise<void>): Promise<void> =>
    withoutSpan(async () => {
      try {
        await withTimeout(hasFailed ? afterFailureMs : timeoutMs, async () => {
          await load();
          if (sdk !== undefined) await work(sdk);
        });
        hasFailed = false;
      } catch (error) {
        hasFailed = true;
        lost(error instanceof Error ? error.message : "not sent");
      }
    });
  return {
    span: span => enqueue(to => to.span(span)),
    measure: (metric, value, labels) => enqueue(to => to.measure(metric, value, labels)),
    writeLine: (level, line) => {
      const event = parseLogLine(level, line, options.now());
      enqueue(to => to.log(event));
    },
    flush: () => withLimit(flushMs, loaded => loaded.flush()),
    close: () => withLimit(closeMs, loaded => loaded.shutdown()),
  };
}

async function connect(
  { connectionString, credential, otlpEndpoint, resource }: TelemetryOptions,
  lost: (reason: string) => void,
): Promise<TelemetrySdk> {
  const [{ openTelemetrySdk }, ...targets] = await Promise.all([
    import("./telemetry-sdk.ts"),
    ...(connectionString === undefined ? [] : [azureMonitorExporters(connectionString, credential)]),
    ...(otlpEndpoint === undefined ? [] : [otlpExporters(otlpEndpoint)]),
  ]);
  return openTelemetrySdk(targets, resource, lost);
}

/** Parses a finished log line. Adds nothing, because the log has removed what must not be sent (G10). */
function parseLogLine(level: Level, line: string, at: number): Parameters<TelemetrySdk["log"]>[0] {
  const { event, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const flat = Object.entries(fields).map(([name, value]) => [
    name,
    isPrimitive(value) ? value : JSON.stringify(value),
  ]);
  return { level, event: String(event), fields: Object.fromEntries(flat), at, spanContext: currentSpan() };
}

const isPrimitive = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

/**
 * Returns a function that reports lost telemetry on the console, at most once a minute and without what an exporter
 * quotes.
 */
function createLossReporter(writeLine: WriteLine, now: () => number): (reason: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return reason => {
    if (now() - reportedAt < 60_000) return;
    reportedAt = now();
    const [plain = ""] = reason.split(/[{"]/);
    const [code] = /\bE[A-Z]{3,}\b|\b[45]\d\d\b/.exec(reason) ?? [];
    const parts = [plain.slice(0, 200).trim(), code].filter(part => part);
    writeLine("error", JSON.stringify({ event: "telemetry_lost", reason: parts.join(" ") }));
  };
}
