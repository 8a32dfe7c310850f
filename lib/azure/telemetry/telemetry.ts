import type { TokenCredential } from "@azure/identity";
import type { Level, WriteLine } from "../../log.ts";
import { currentSpan, type Labels, type TelemetrySink, withoutSpan } from "../../telemetry.ts";
import type { LogEvent, TelemetrySdk } from "./sdk.ts";

export interface TelemetryOptions {
  /** Of Application Insights. */
  readonly connectionString?: string | undefined;
  /** The app's identity, where Application Insights takes no key. */
  readonly credential?: TokenCredential | undefined;
  /** Without the path of a signal. */
  readonly otlpEndpoint?: string | undefined;
  /** What tells this process from others. */
  readonly resource: Labels;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Where it is told that something could not be sent. */
  readonly writeLine: WriteLine;
}

export interface Telemetry extends TelemetrySink {
  /** Takes finished log lines. */
  readonly writeLine: WriteLine;
  /** Sends what is waiting; within 5 s, whatever comes of it. */
  flush(): Promise<void>;
  /** `flush`, and no more is sent. */
  close(): Promise<void>;
}

/** The first answer is not to wait for what sends telemetry to be loaded. */
const loadDelayMs = 1000;
/** Beyond this, what comes before it is loaded is dropped. */
const maxWaiting = 10_000;
const maxFlushMs = 5000;

/**
 * Sends spans, metrics and log events to Application Insights and to an OTLP endpoint, whichever is named; undefined where none is.
 * OpenTelemetry is loaded a moment after the first of them.
 */
export function openTelemetry(options: TelemetryOptions): Telemetry | undefined {
  if (options.connectionString === undefined && options.otlpEndpoint === undefined) return undefined;
  const lost = createLossReporter(options.writeLine, options.now);
  const waiting: ((sdk: TelemetrySdk) => void)[] = [];
  let sdk: TelemetrySdk | undefined;
  let loading: Promise<TelemetrySdk | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const load = (): Promise<TelemetrySdk | undefined> => {
    clearTimeout(timer);
    loading ??= connect(options, lost).then(
      connected => {
        sdk = connected;
        for (const take of waiting.splice(0)) take(connected);
        return connected;
      },
      (error: unknown) => {
        waiting.length = 0;
        lost(error instanceof Error ? error.message : "not loaded");
        return undefined;
      },
    );
    return loading;
  };
  // Timers and requests that begin here would else belong to the trace of whatever call came first.
  const give = (take: (sdk: TelemetrySdk) => void): void =>
    withoutSpan(() => {
      if (sdk !== undefined) take(sdk);
      else if (waiting.length < maxWaiting) waiting.push(take);
      if (loading === undefined) timer ??= setTimeout(load, loadDelayMs);
    });
  const inTime = (work: (loaded: TelemetrySdk) => Promise<void>): Promise<void> =>
    withoutSpan(async () => {
      const { promise: over, reject } = Promise.withResolvers<never>();
      const limit = setTimeout(() => reject(new Error("not sent in time")), maxFlushMs);
      const done = load().then(loaded => loaded && work(loaded));
      await Promise.race([done, over]).catch((error: unknown) => {
        lost(error instanceof Error ? error.message : "not sent");
      });
      clearTimeout(limit);
    });
  return {
    span: span => give(to => to.span(span)),
    measure: (metric, value, labels) => give(to => to.measure(metric, value, labels)),
    writeLine: (level, line) => {
      const event = parseLogLine(level, line, options.now());
      give(to => to.log(event));
    },
    flush: () => inTime(loaded => loaded.flush()),
    close: () => inTime(loaded => loaded.shutdown()),
  };
}

async function connect(
  { connectionString, credential, otlpEndpoint, resource }: TelemetryOptions,
  lost: (reason: string) => void,
): Promise<TelemetrySdk> {
  const [{ openTelemetrySdk }, azureMonitor, otlp] = await Promise.all([
    import("./sdk.ts"),
    connectionString === undefined ? undefined : import("./azure-monitor.ts"),
    otlpEndpoint === undefined ? undefined : import("./otlp.ts"),
  ]);
  const targets = [
    ...(azureMonitor && connectionString !== undefined
      ? [azureMonitor.azureMonitorExporters(connectionString, credential)]
      : []),
    ...(otlp && otlpEndpoint !== undefined ? [otlp.otlpExporters(otlpEndpoint)] : []),
  ];
  return openTelemetrySdk(targets, resource, lost);
}

/** A finished line as a log event. Nothing is added to what the log has let through (decision G10). */
function parseLogLine(level: Level, line: string, at: number): LogEvent {
  const { event, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const flat = Object.entries(fields).map(([name, value]) => [
    name,
    isPrimitive(value) ? value : JSON.stringify(value),
  ]);
  return { level, event: String(event), fields: Object.fromEntries(flat), at, spanContext: currentSpan() };
}

const isPrimitive = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

/** Says once a minute at most that something was lost, on the console; what an exporter quotes stays out. */
function createLossReporter(writeLine: WriteLine, now: () => number): (reason: string) => void {
  let told = Number.NEGATIVE_INFINITY;
  return reason => {
    if (now() - told < 60_000) return;
    told = now();
    const [plain = ""] = reason.split(/[{"]/);
    const [word] = /\bE[A-Z]{3,}\b|\b[45]\d\d\b/.exec(reason) ?? [];
    const words = [plain.slice(0, 200).trim(), word].filter(part => part);
    writeLine("error", JSON.stringify({ event: "telemetry_lost", reason: words.join(" ") }));
  };
}
