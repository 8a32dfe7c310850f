import { type Asked, undoAtIdps } from "./ask-idps.ts";
import { removeAuthenticators } from "./enrollment-side.ts";
import type { ConnectorDeps } from "./ports.ts";
import type { Key } from "./request.ts";

/** Takes back what was begun for these keys at the enrollment side and at the IdPs (decision C6). Throws the first failure; repeating is safe. */
export async function undo(
  requestId: string,
  keys: readonly Key[],
  deps: Pick<ConnectorDeps, "idps" | "rfpr" | "timing" | "concurrency" | "sealer">,
  asked?: Asked,
): Promise<void> {
  // Neither waits for the other: what one refuses to take back must not keep the other's.
  const ended = await Promise.allSettled([
    removeAuthenticators(requestId, keys, deps),
    undoAtIdps(requestId, keys, deps, asked),
  ]);
  for (const each of ended) if (each.status === "rejected") throw each.reason;
}
