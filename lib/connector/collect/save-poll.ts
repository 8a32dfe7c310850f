import { plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { backOffMs } from "../model/intervals.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { rolledUp } from "../model/roll-up.ts";
import { saveRequest } from "../store/save-request.ts";

/** The request as it is to be polled next: when the service says so, else after 1 hour, backing off to 6 (decisions C10, C15). */
function withNextPoll(
  request: CredentialRequest,
  { now, intervals: timing }: ConnectorDeps,
  retryAfter?: number,
): CredentialRequest {
  const { lease, ...rest } = request;
  const wait =
    retryAfter === undefined
      ? backOffMs(request.attempts, timing.pollAfter, timing.pollMax)
      : Math.max(retryAfter * 1000, timing.retryMin);
  const due = { queue: "poll", at: plus(now(), wait), ...(retryAfter !== undefined && { held: true }) } as const;
  return { ...rest, attempts: request.attempts + 1, due };
}

/** Writes a poll that changes no key. @param retryAfter seconds that the peer asked to wait */
export async function pollLater(
  claimed: LoadedRequest,
  changes: Partial<CredentialRequest>,
  deps: ConnectorDeps,
  retryAfter?: number,
): Promise<void> {
  await saveRequest(
    claimed,
    { request: { ...withNextPoll(claimed.request.value, deps, retryAfter), ...changes } },
    deps,
  );
}

/** Writes what a poll changed. Polling ends when no shipped credential waits any more. */
export async function savePoll(
  claimed: LoadedRequest,
  request: CredentialRequest,
  shipped: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<void> {
  const before = claimed.keys.map(({ value }) => value);
  const changed = shipped.filter(key => !before.includes(key));
  const keys = before.map(key => changed.find(({ id }) => id === key.id) ?? key);
  const waiting = shipped.some(({ credentials }) => credentials.some(({ state }) => state === "processing"));
  const { lease, due, ...rest } = request;
  const next = waiting ? withNextPoll(request, deps) : rest;
  const saved = await saveRequest(claimed, { request: rolledUp(next, keys, deps.now()), keys: changed }, deps);
  if (saved === undefined) deps.log.warn("poll_conflict", {});
}
