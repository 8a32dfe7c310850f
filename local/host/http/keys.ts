// Development tool: access keys as Azure's host checks them.
import type { IncomingMessage } from "node:http";
import type { AuthLevel } from "../served-functions.ts";

export interface Keys {
  readonly master: string;
  /** Keys for every function. */
  readonly host: readonly string[];
  /** Keys for one function, by its name. */
  readonly functions: Readonly<Record<string, readonly string[]>>;
}

/** Returns the level of a request's key: `function` for a host key or a key of the function; `anonymous` without a valid key. */
export type LevelOf = (request: IncomingMessage, rawQuery: string, functionName?: string) => AuthLevel;

export function createLevelOf(keys: Keys): LevelOf {
  // The real host caches valid keys without regard to case: a key in another case is refused until the correct one was used.
  const remembered = new Map<string, AuthLevel>();
  return (request, rawQuery, functionName = "") => {
    const key = sentKey(request, rawQuery);
    if (!key) return "anonymous";
    const memory = JSON.stringify([key.toLowerCase(), functionName]);
    const level = remembered.get(memory) ?? levelOfKey(keys, key, functionName);
    if (level !== "anonymous") remembered.set(memory, level);
    return level;
  };
}

const order: readonly AuthLevel[] = ["anonymous", "function", "admin"];

export const reaches = (level: AuthLevel, needed: AuthLevel): boolean => order.indexOf(level) >= order.indexOf(needed);

function levelOfKey(keys: Keys, key: string, functionName: string): AuthLevel {
  if (key === keys.master) return "admin";
  return keys.host.includes(key) || keys.functions[functionName]?.includes(key) ? "function" : "anonymous";
}

/** A header has priority, even an empty one; the first of several values counts. */
function sentKey(request: IncomingMessage, rawQuery: string): string | undefined {
  const header = request.headersDistinct["x-functions-key"];
  if (header !== undefined) return header[0];
  for (const [name, value] of new URLSearchParams(rawQuery)) if (name.toLowerCase() === "code") return value;
  return undefined;
}
