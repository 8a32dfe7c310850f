// Development tool: the master key as Azure's host checks it.
import type { IncomingMessage } from "node:http";

/** Returns whether a request has the master key. */
export type HasMasterKey = (request: IncomingMessage, rawQuery: string) => boolean;

export function createMasterKeyCheck(masterKey: string): HasMasterKey {
  // The real host caches valid keys without regard to case: a key in another case is refused until the correct one was used.
  let isCached = false;
  return (request, rawQuery) => {
    const key = sentKey(request, rawQuery) ?? "";
    isCached ||= key === masterKey;
    return isCached && key.toLowerCase() === masterKey.toLowerCase();
  };
}

/** A header has priority, even an empty one; the first of several values counts. */
function sentKey(request: IncomingMessage, rawQuery: string): string | undefined {
  const header = request.headersDistinct["x-functions-key"];
  if (header !== undefined) return header[0];
  for (const [name, value] of new URLSearchParams(rawQuery)) if (name.toLowerCase() === "code") return value;
  return undefined;
}
