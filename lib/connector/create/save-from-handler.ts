import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import { toResult } from "../http/to-result.ts";
import type { SecurityKey } from "../model/request.ts";
import { compensateAtIdps } from "../recovery/compensate.ts";
import { saveRequest } from "../store/save-request.ts";

/**
 * A write of the creator's. One whose answer got lost looks as if another had been faster, so the request is read again then.
 * A creator that has used up its time, or whose request the job has taken over, stops here and leaves the rest to the job (decision
 * C6): undefined then.
 * @param isOurs tells from the request as it now stands whether the write was done
 */
export async function saveFromHandler(
  loaded: LoadedRequest,
  changes: Changes & Required<Pick<Changes, "request">>,
  isOurs: (now: LoadedRequest) => boolean,
  deps: Pick<ConnectorDeps, "requests" | "now" | "intervals">,
): Promise<LoadedRequest | undefined> {
  const { id, createdAt } = loaded.request.value;
  if (deps.now() > plus(createdAt, deps.intervals.create)) return undefined;
  const written = await saveRequest(loaded, changes, deps);
  if (written !== undefined) return written;
  const now = await deps.requests.load(id);
  return now !== undefined && isOurs(now) ? now : undefined;
}

/**
 * Takes back what was begun at the IdPs for keys that could not be written down any more: no row tells the job of it. Returns what
 * the caller is told.
 */
export async function tooLateWith(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<Fault> {
  const undone = await toResult(compensateAtIdps(requestId, keys, deps));
  if ("error" in undone) deps.log.warn("undo_failed", { credentialRequestId: requestId, error: undone.error });
  return tooLate();
}

/** What the caller of a create is told that has used up its time. */
export const tooLate = (): Fault =>
  new Fault("unavailable", "The request took too long; nothing was ordered.", { retryAfter: 30 });
