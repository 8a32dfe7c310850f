import { Fault } from "../../fault.ts";
import { withLogFields } from "../../log.ts";
import { PeerFailure } from "../../peers/peer-failure.ts";
import { between } from "../../time.ts";
import type { ConnectorDeps, ListEntry, LoadedRequest } from "../deps.ts";
import { foldName, personList, positionOf } from "../model/people-lists.ts";
import { isTerminal } from "../model/states.ts";
import { logAndContinue } from "../run/queue.ts";
import { isLeasedByAnother, isOver, type Run, startRun } from "../run/run.ts";
import { cancelRequest } from "./cancel-request.ts";
import { removeRequest } from "./remove-request.ts";

/** The person whose data is erased, by one of the names that creates used. Letter case does not count. */
export type RecipientName =
  | { readonly by: "email"; readonly name: string }
  | { readonly by: "externalId"; readonly name: string }
  | { readonly by: "userId"; readonly name: string };

export interface EraseReport {
  readonly erased: number;
  /** The requests that were not erased, and why. */
  readonly left: readonly { readonly requestId: string; readonly reason: string }[];
}

const pageSize = 100;

/**
 * Removes each request that concerns one person: its rows, sealed keys, blobs, and its authenticators at the pre-registration API. Cancels
 * open requests first, and reports those that cannot be cancelled now (C19). May be repeated, also after a crash.
 */
export async function eraseRecipient(who: RecipientName, deps: ConnectorDeps): Promise<EraseReport> {
  const run = startRun("timer", deps);
  const list = personList(who.name);
  const left: EraseReport["left"][number][] = [];
  let erased = 0;
  let after: string | undefined;
  for (;;) {
    const entries = await deps.requests.entries(list, { after, top: pageSize });
    for (const entry of entries) {
      const { requestId } = entry;
      after = positionOf(entry);
      const end = await withLogFields({ credentialRequestId: requestId }, () =>
        eraseOne(entry, who, run, deps).catch((error: unknown): EraseResult => {
          logAndContinue(error, {}, deps);
          return { left: "The erasure failed; the log has the reason." };
        }),
      );
      if (end === "erased") erased++;
      else if (end !== "none") left.push({ requestId, reason: end.left });
    }
    if (entries.length < pageSize) break;
  }
  // The host's own log has the caller. No log has the person who was erased.
  deps.log.info("recipient_erased", { by: who.by, erased, left: left.length });
  return { erased, left };
}

type EraseResult = "erased" | "none" | { readonly left: string };

async function eraseOne(entry: ListEntry, who: RecipientName, run: Run, deps: ConnectorDeps): Promise<EraseResult> {
  if (isOver(run, deps)) return { left: "The time for one run was over." };
  const { requests, log } = deps;
  const foundBy = personList(who.name);
  const loaded = await requests.load(entry.requestId);
  if (loaded === undefined) {
    // The create handler may have written the list and not yet the request.
    if (between(entry.writtenAt, deps.now()) > deps.intervals.dueOrphanMs)
      await requests.removeStale({ ...entry, list: foundBy }, loaded);
    return "none";
  }
  if (!concerns(loaded, who)) return "none";
  try {
    const ended = await requireEnded(loaded, run, deps);
    if ("left" in ended) return ended;
    await removeRequest(ended, deps, { foundBy });
  } catch (error) {
    if (error instanceof Fault && error.kind !== "internal") return { left: error.message };
    if (!(error instanceof PeerFailure)) throw error;
    log.warn("not_erased", { error });
    return { left: `The ${error.peer} does not answer.` };
  }
  log.info("request_erased", {});
  return "erased";
}

/** Returns the request once it has ended, after a cancel if it is open, and if no job has a lease on it. Otherwise returns the reason. */
async function requireEnded(
  loaded: LoadedRequest,
  run: Run,
  deps: ConnectorDeps,
): Promise<LoadedRequest | { readonly left: string }> {
  const { id, state } = loaded.request.value;
  const ended = isTerminal(state) ? loaded : await cancelRequest(id, deps);
  if (!isTerminal(ended.request.value.state))
    return { left: "Security keys that are produced wait for their activation." };
  const isLeased = [ended.request, ...ended.keys].some(({ value }) => isLeasedByAnother(value.lease, run, deps.now()));
  return isLeased ? { left: "A job is working on the request." } : ended;
}

function concerns({ request: { value: request }, keys }: LoadedRequest, { by, name }: RecipientName): boolean {
  const names =
    by === "userId"
      ? keys.flatMap(({ value }) => value.credentials.map(({ userId }) => userId))
      : [request.recipient[by]];
  return names.some(each => foldName(each) === foldName(name));
}
