import { AsyncLocalStorage } from "node:async_hooks";

export type Level = "info" | "warn" | "error";
export type Fields = Readonly<Record<string, unknown>>;

/** Writes one complete line to the Functions host's logger (in Azure) or the terminal (locally). */
export type WriteLine = (level: Level, line: string) => void;

/** The console is what the host collects, also outside an invocation. */
export const writeToHost: WriteLine = (level, line) => console[level](line);

/** Structured log with one JSON line for each event. Fields must not contain secrets or a recipient's data (G10). */
export interface Log {
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
}

const levelOrder: readonly Level[] = ["info", "warn", "error"];

/** The fields that every line of the current call has, such as the request id. */
const callFields = new AsyncLocalStorage<Fields>();

/** Runs `work` and adds `fields` to every log line that it writes. */
export const withLogFields = <T>(fields: Fields, work: () => T): T =>
  callFields.run({ ...callFields.getStore(), ...fields }, work);

/** Adds `fields` to every further log line of the call or work that `withLogFields` runs. */
export const addLogFields = (fields: Fields): void => void Object.assign(callFields.getStore() ?? {}, fields);

/** Creates a log. Levels below `threshold` are dropped. */
export function createLog(write: WriteLine, threshold: Level = "info"): Log {
  const at =
    (level: Level) =>
    (event: string, fields: Fields = {}) => {
      if (levelOrder.indexOf(level) < levelOrder.indexOf(threshold)) return;
      const all = Object.assign({ event }, callFields.getStore(), fields, { event });
      write(level, JSON.stringify(all, redact));
    };
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

/** Awaits the work and logs its failure as a warning, so that it does not hide the error that came first. */
export async function warnOnError(
  event: string,
  work: Promise<unknown>,
  { log }: { readonly log: Log },
): Promise<void> {
  await work.catch((error: unknown) => log.warn(event, { error }));
}

/** Longer strings are cut: an error message may quote a peer's response. */
const maxTextLength = 4096;

/** Replacer for `JSON.stringify`. Reads the original value, because errors of libraries may define `toJSON`. */
function redact(this: Fields, key: string, value: unknown): unknown {
  const original = this[key];
  if (original instanceof Error) return errorFields(original);
  if (typeof value === "string" && value.length > maxTextLength) return `${value.slice(0, maxTextLength)}… (cut)`;
  return key === "error" && original !== undefined ? "(thrown value is not an Error)" : value;
}

/** Limits the chain of causes, because an error can be its own cause. */
const maxCauses = 5;

/**
 * Returns an error as log fields. Leaves out other properties and causes that are not an `Error`, which may contain
 * tokens or whole requests, and the message of a parser, which quotes its input.
 */
export function errorFields(error: Error, depth = 0): Fields {
  const { code, statusCode, peerRequestId } = error as Error &
    Partial<Record<"code" | "statusCode" | "peerRequestId", unknown>>;
  const isParseError = error instanceof SyntaxError;
  return {
    name: error.name,
    message: isParseError ? "(unparsable text)" : error.message,
    ...(isTextOrNumber(code) ? { code } : {}),
    ...(isTextOrNumber(statusCode) ? { statusCode } : {}),
    ...(isTextOrNumber(peerRequestId) ? { peerRequestId } : {}),
    stack: isParseError ? error.stack?.slice(error.stack.indexOf("\n    at ")).trimStart() : error.stack,
    ...(error.cause instanceof Error && depth < maxCauses ? { cause: errorFields(error.cause, depth + 1) } : {}),
  };
}

const isTextOrNumber = (value: unknown): boolean => typeof value === "string" || typeof value === "number";
