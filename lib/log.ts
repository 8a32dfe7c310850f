import { AsyncLocalStorage } from "node:async_hooks";

export type Level = "debug" | "info" | "warn" | "error";
export type Fields = Readonly<Record<string, unknown>>;

/** Writes one finished line; the Functions host's logger in Azure, the terminal locally. */
export type WriteLine = (level: Level, line: string) => void;

/** Structured log, one line an event (decision G10). Fields never hold secrets or a recipient's data. */
export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
}

const order: readonly Level[] = ["debug", "info", "warn", "error"];

/** What every line inside one call carries: the request id and the invocation id (decision G7). */
const callFields = new AsyncLocalStorage<Fields>();

/** Runs `work` so that every log line inside it carries `fields`. */
export const withLogFields = <T>(fields: Fields, work: () => T): T =>
  callFields.run({ ...callFields.getStore(), ...fields }, work);

/** @param threshold the least level that is written */
export function createLog(write: WriteLine, threshold: Level = "info"): Log {
  const at =
    (level: Level) =>
    (event: string, fields: Fields = {}) => {
      if (order.indexOf(level) < order.indexOf(threshold)) return;
      const all = Object.assign({ event }, callFields.getStore(), fields, { event });
      write(
        level,
        JSON.stringify(all, (_, value) => (value instanceof Error ? described(value) : value)),
      );
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** An error as log fields. A cause that is no `Error` is left out: foreign objects may hold tokens or whole requests. */
export function described(error: Error): Fields {
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(statusCode === undefined ? {} : { statusCode }),
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: described(error.cause) } : {}),
  };
}
