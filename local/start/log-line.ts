import { styleText } from "node:util";
import type { Level } from "../../lib/platform/log.ts";

type Event = Readonly<Record<string, unknown>>;

/** Returns the event of a line of the app's log; undefined if the line is other text. */
export function parseEvent(line: string): Event | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "event" in value ? (value as Event) : undefined;
  } catch {
    return undefined;
  }
}

/** Fields that identify the call and do not help a reader of one terminal. */
const leftOut = ["event", "requestId", "invocationId", "address", "credentialRequestId", "error", "callerKind"];

/** Returns an event as one readable line; an error follows on lines of its own. */
export function describeEvent(event: Event): string {
  const { credentialRequestId: id, error } = event;
  const request = typeof id === "string" ? [`request ${id}`] : [];
  return [[...request, wordsOf(event)].join("  "), ...errorLines(error)].join("\n");
}

function wordsOf({ event, ...fields }: Event): string {
  const { from, state, index, outcome, idp, keyId } = fields;
  switch (event) {
    case "request_state":
      return from === undefined ? String(state) : `${from} → ${state}`;
    case "credential_ended":
      return `credential ${Number(index) + 1} of key ${keyId} at ${idp}: ${outcome}`;
    case "enrollment_ended":
      return `enrollment of key ${keyId}: ${outcome}`;
    case "job":
      return jobWords(fields);
    case "pin_mail_sent":
      return `PIN email sent for key ${keyId}`;
    default:
      return [
        event,
        ...Object.entries(fields)
          .filter(([name]) => !leftOut.includes(name))
          .map(pair),
      ].join("  ");
  }
}

function jobWords({ job, trigger, application, subject, ...report }: Event): string {
  const counts = Object.entries(report).filter(([name]) => !leftOut.includes(name));
  return `job ${job} (${trigger}): ${counts.map(([name, count]) => `${name} ${JSON.stringify(count)}`).join(", ")}`;
}

const pair = ([name, value]: readonly [string, unknown]): string =>
  `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;

const maxStackLines = 6;

function errorLines(error: unknown): readonly string[] {
  if (typeof error !== "object" || error === null) return error === undefined ? [] : [`    ${String(error)}`];
  const { name, message, stack, cause } = error as Record<"name" | "message" | "stack" | "cause", unknown>;
  const frames = String(stack ?? "")
    .split("\n")
    .filter(line => line.startsWith("    at ") && !line.includes("node:internal"));
  return [`    ${name}: ${message}`, ...frames.slice(0, maxStackLines).map(line => `  ${line}`), ...errorLines(cause)];
}

const levelStyles = { debug: "dim", info: "reset", warn: "yellow", error: "red" } as const;

/** Returns a text with the time and, from warnings on, the level in front. */
export function stampLine(level: Level, text: string, at: Date, stream: NodeJS.WriteStream): string {
  const time = styleText("dim", at.toTimeString().slice(0, 8), { stream });
  const label = level === "warn" || level === "error" ? `${styleText(levelStyles[level], level, { stream })}  ` : "";
  return `${time}  ${label}${text}\n`;
}

/** One HTTP call of the host. */
interface HostCall {
  readonly method: string;
  /** Without the query, which may contain passwords. */
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
}

/** Returns a call as one line: method, path, status and duration in columns. */
export function describeCall({ method, path, status, durationMs }: HostCall, stream: NodeJS.WriteStream): string {
  const style = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
  const where = `${method.padEnd(4)} ${path}`;
  return `${where.padEnd(64)}  ${styleText(style, String(status), { stream })}  ${Math.round(durationMs)} ms`;
}
