import { isDeepStrictEqual } from "node:util";
import type { ConnectorDeps } from "../deps.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { postponeRequest, withTrackDue } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { withLostRevoked } from "../model/revocation.ts";
import { rolledUp } from "../model/roll-up.ts";
import type { SecurityKey } from "../model/security-key.ts";

/** Returns the unleased request with its next poll: at the peer's Retry-After, else after 1 to 6 hours. */
function withNextPoll(request: CredentialRequest, deps: ConnectorDeps, retryAfterSeconds?: number): CredentialRequest {
  const { shipmentPoll, retry } = deps.intervals;
  const backOff = retryAfterSeconds === undefined ? shipmentPoll : { minMs: retry.minMs, maxMs: retry.minMs };
  return postponeRequest(request, "poll", backOff, deps, retryAfterSeconds);
}

/** Saves a poll that changed no security key. @param retryAfterSeconds seconds that the peer asked to wait */
export async function pollLater(
  leased: LoadedRequest,
  changes: Partial<CredentialRequest>,
  deps: ConnectorDeps,
  retryAfterSeconds?: number,
): Promise<void> {
  const request = { ...withNextPoll(leased.request, deps, retryAfterSeconds), ...changes };
  await saveUnlessChanged(leased, { request }, deps);
}

/** Saves the changes of a poll. When no shipped credential waits for a response, tracking begins. */
export async function savePoll(
  leased: LoadedRequest,
  request: CredentialRequest,
  decoded: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<void> {
  const before = leased.keys;
  const shipped = withLostRevoked(decoded, request, deps);
  const changed = shipped.filter(key => !before.some(old => isDeepStrictEqual(old, key)));
  const keys = before.map(key => changed.find(({ id }) => id === key.id) ?? key);
  const waiting = shipped.some(({ credentials }) => credentials.some(({ state }) => state === "processing"));
  const { lease, due, ...rest } = request;
  const next = waiting ? withNextPoll(request, deps) : withTrackDue(rest, shipped, deps);
  const changes = { request: rolledUp(next, keys, deps.now()), keys: changed };
  const isRevoked = shipped.some(key => !decoded.includes(key));
  if ((await saveUnlessChanged(leased, changes, deps)) && isRevoked)
    deps.log.info("revocation_requested", { reason: "lost" });
}

/** Returns whether the changes were saved. */
async function saveUnlessChanged(leased: LoadedRequest, changes: Changes, deps: ConnectorDeps): Promise<boolean> {
  if ((await deps.requests.save(leased, changes)) !== undefined) return true;
  deps.log.warn("poll_conflict", {});
  await removeResponsesIfDeleted(leased.request.id, deps);
  return false;
}

/**
 * Removes the responses of a request that no longer exists, or is archived. Call it after a poll that could not be
 * saved: the poll stores the responses before it saves the row that names them, and the request may have been deleted
 * or erased between the two.
 */
export async function removeResponsesIfDeleted(
  requestId: string,
  { requests, responses }: ConnectorDeps,
): Promise<void> {
  const loaded = await requests.load(requestId);
  if (loaded === undefined || loaded.request.isArchived === true) await responses.removeAll(requestId);
}
