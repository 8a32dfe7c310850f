import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevoking, whyStillUsable } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { foldName, personList } from "../model/request-lists.ts";
import { isTerminal, type RequestState } from "../model/states.ts";
import { logAndContinue } from "../runs/queue.ts";
import { canRemoveIndexRow, isLeasedByAnother, isPastDeadline, type Run, startRun } from "../runs/run.ts";
import type { ListEntry } from "../storage/lists.table.ts";
import { cancelRequest } from "./cancel-request.ts";
import { removeRequest } from "./remove-request.ts";

/** The person whose data is erased, by one of the names that creates used. Letter case does not count. */
export interface RecipientName {
  readonly by: "email" | "externalId" | "userId";
  readonly name: string;
}

/** A request that was deleted, or would be. */
interface ErasedRequest {
  readonly requestId: string;
  /** Before the erasure. One that is open is cancelled first. */
  readonly state: RequestState;
  /** Users of its credentials with another name than the person's: they may be other people. */
  readonly otherUsers: number;
}

interface EraseReport {
  /** The number of `requests`. */
  readonly erased: number;
  /** The requests that were erased; in a dry run, those that would be. */
  readonly requests: readonly ErasedRequest[];
  /** The requests that were not erased, and why. */
  readonly left: readonly { readonly requestId: string; readonly reason: string }[];
}

/**
 * Removes each request that concerns one person: its rows, sealed keys, blobs, and its authenticators at the
 * pre-registration API. Cancels open requests first, and reports those that cannot be cancelled now, and those with
 * credentials that are or may be active, because nothing could revoke these afterwards (C19). May be repeated, also
 * after a crash.
 * @param options with `dryRun`, changes nothing and reports the requests that it would cancel and delete; with
 *   `leaveActive`, deletes requests with active credentials too, which stay active at their IdPs
 */
export async function eraseRecipient(
  who: RecipientName,
  deps: ConnectorDeps,
  { dryRun = false, leaveActive = false }: { readonly dryRun?: boolean; readonly leaveActive?: boolean } = {},
): Promise<EraseReport> {
  const run = startRun("timer", deps);
  const list = personList(who.name);
  const left: EraseReport["left"][number][] = [];
  const requests: ErasedRequest[] = [];
  for await (const entry of deps.requests.allEntries(list)) {
    const { requestId } = entry;
    const end = await withLogFields({ credentialRequestId: requestId }, () =>
      eraseOne(entry, { who, run, dryRun, leaveActive }).catch((error: unknown): EraseResult => {
        logAndContinue(error, {}, deps);
        return { left: "The erasure failed; the log has the reason." };
      }),
    );
    if (end === undefined) continue;
    if ("left" in end) left.push({ requestId, reason: end.left });
    else requests.push(end);
  }
  // The host's own log has the caller. No log has the person who was erased.
  const erased = requests.length;
  if (!dryRun) deps.log.info("recipient_erased", { by: who.by, erased, left: left.length });
  return { erased, requests, left };
}

interface Erasure {
  readonly who: RecipientName;
  readonly run: Run;
  readonly dryRun: boolean;
  readonly leaveActive: boolean;
}

type EraseResult = ErasedRequest | { readonly left: string } | undefined;

async function eraseOne(entry: ListEntry, { who, run, dryRun, leaveActive }: Erasure): Promise<EraseResult> {
  const { requests, log } = run;
  const foundBy = personList(who.name);
  const loaded = await requests.load(entry.requestId);
  if (loaded === undefined) {
    if (!dryRun && canRemoveIndexRow(entry, { isOrphan: true }, run))
      await requests.removeStale({ ...entry, list: foundBy }, loaded);
    return undefined;
  }
  if (!concerns(loaded, who)) return undefined;
  if (isPastDeadline(run)) return { left: "The run timed out." };
  const { id: requestId, state } = loaded.request;
  const erased = { requestId, state, otherUsers: otherUsers(loaded, who) };
  const activeIn = ({ keys }: LoadedRequest) =>
    leaveActive ? undefined : whyStillUsable(keys.flatMap(({ credentials }) => credentials));
  const active = activeIn(loaded);
  if (active !== undefined) return { left: active };
  if (dryRun) return erased;
  try {
    const ended = await requireEnded(loaded, run);
    if ("left" in ended) return ended;
    const activated = activeIn(ended);
    if (activated !== undefined) return { left: activated };
    if (!(await removeRequest(ended, run, { foundBy }))) return { left: "The request was changed meanwhile." };
  } catch (error) {
    if (error instanceof Fault && error.kind !== "internal") return { left: error.message };
    if (!(error instanceof PeerFailure)) throw error;
    log.warn("not_erased", { error });
    return { left: `The ${error.peer} ${error.isTransient ? "is not responding" : "refused the call"}.` };
  }
  log.info("request_erased", {});
  return erased;
}

/** Returns the request that has ended, by a cancel if it was open, and is not leased; otherwise the reason. */
async function requireEnded(loaded: LoadedRequest, run: Run): Promise<LoadedRequest | { readonly left: string }> {
  const { id, state } = loaded.request;
  const ended = isTerminal(state) ? loaded : await cancelRequest(id, run);
  if (!isTerminal(ended.request.state)) return { left: "Security keys that are produced wait for their activation." };
  if (ended.keys.some(({ credentials }) => credentials.some(isRevoking)))
    return { left: "Credentials of the request are being revoked." };
  if (ended.request.replaceDue !== undefined)
    return { left: "A job has not finished with the security key that it replaces." };
  const isLeased = [ended.request, ...ended.keys].some(({ lease }) => isLeasedByAnother(lease, run));
  return isLeased ? { left: "A job is working on the request." } : ended;
}

const usersOf = ({ keys }: LoadedRequest): readonly string[] =>
  keys.flatMap(({ credentials }) => credentials.map(({ userId }) => foldName(userId)));

/** Returns the number of users of credentials that have none of the names by which the person is known. */
function otherUsers(loaded: LoadedRequest, { by, name }: RecipientName): number {
  const { email, externalId } = loaded.request.recipient;
  const own = (by === "userId" ? [name] : [name, email, externalId]).map(foldName);
  return new Set(usersOf(loaded).filter(user => !own.includes(user))).size;
}

function concerns(loaded: LoadedRequest, { by, name }: RecipientName): boolean {
  const { recipient, isArchived } = loaded.request;
  // Of an archived request only the users are known.
  const names = by === "userId" || isArchived ? usersOf(loaded) : [recipient[by]];
  return names.some(each => foldName(each) === foldName(name));
}
