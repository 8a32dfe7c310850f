import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { Changes, ConnectorDeps, Loaded } from "../deps.ts";
import { outcome } from "../http/to-result.ts";
import type { Key } from "../model/request.ts";
import { undoAtIdps } from "../recovery/compensate.ts";
import { write } from "../store/save-request.ts";

/**
 * A write of the creator's. One whose answer got lost looks as if another had been faster, so the request is read again then.
 * A creator that has used up its time, or whose request the job has taken over, stops here and leaves the rest to the job (decision
 * C6): undefined then.
 * @param isOurs tells from the request as it now stands whether the write was done
 */
export async function writeAsCreator(
  loaded: Loaded,
  changes: Changes & Required<Pick<Changes, "request">>,
  isOurs: (now: Loaded) => boolean,
  deps: Pick<ConnectorDeps, "requests" | "now" | "timing">,
): Promise<Loaded | undefined> {
  const { id, createdAt } = loaded.request.value;
  if (deps.now() > plus(createdAt, deps.timing.create)) return undefined;
  const written = await write(loaded, changes, deps);
  if (written !== undefined) return written;
  const now = await deps.requests.load(id);
  return now !== undefined && isOurs(now) ? now : undefined;
}

/**
 * Takes back what was begun at the IdPs for keys that could not be written down any more: no row tells the job of it. Returns what
 * the caller is told.
 */
export async function tooLateWith(requestId: string, keys: readonly Key[], deps: ConnectorDeps): Promise<Fault> {
  const undone = await outcome(undoAtIdps(requestId, keys, deps));
  if ("error" in undone) deps.log.warn("undo_failed", { credentialRequestId: requestId, error: undone.error });
  return tooLate();
}

/** What the caller of a create is told that has used up its time. */
export const tooLate = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfter: 30 });
