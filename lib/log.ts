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
      write(level, JSON.stringify(all, withoutForeignData));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Characters of a string that a log line keeps: an error's message may quote what a peer sent (decision G10). */
const longestText = 4096;

/** A replacer for `JSON.stringify`. It looks at what stands in the field: foreign errors may have their own way to JSON. */
function withoutForeignData(this: Fields, key: string, value: unknown): unknown {
  const original = this[key];
  if (original instanceof Error) return described(original);
  if (typeof value === "string" && value.length > longestText) return `${value.slice(0, longestText)}… (cut)`;
  return key === "error" && original !== undefined ? "(what was thrown is no error)" : value;
}

/** How many causes are told; some errors are their own. */
const causesTold = 5;

/**
 * An error as log fields, and only what can hold no foreign data: other fields, and causes that are no `Error`, may hold tokens
 * or whole requests, and the message of a parser quotes what it could not parse.
 */
export function described(error: Error, depth = 0): Fields {
  const { code, statusCode, peerRequestId } = error as Error &
    Partial<Record<"code" | "statusCode" | "peerRequestId", unknown>>;
  const quotes = error instanceof SyntaxError;
  return {
    name: error.name,
    message: quotes ? "(text that can not be parsed)" : error.message,
    ...(isWord(code) ? { code } : {}),
    ...(isWord(statusCode) ? { statusCode } : {}),
    ...(isWord(peerRequestId) ? { peerRequestId } : {}),
    stack: quotes ? error.stack?.slice(error.stack.indexOf("\n    at ")).trimStart() : error.stack,
    ...(error.cause instanceof Error && depth < causesTold ? { cause: described(error.cause, depth + 1) } : {}),
  };
}

const isWord = (value: unknown): boolean => typeof value === "string" || typeof value === "number";
