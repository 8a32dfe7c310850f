import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Due, Lease } from "../model/request.ts";

/** What a run knows about a peer. */
interface PeerInRun {
  /** Failed calls since the last one that did not fail. */
  readonly failures: number;
  /** Set when the run stops calling the peer, which is not responding or does not accept the connector. */
  readonly isStopped: boolean;
}

/** A run of a job. */
export interface Run {
  /** A timer run works on items that are due; an on-demand run works on all open items. */
  readonly mode: "timer" | "on_demand";
  /** Identifies this run in its leases. */
  readonly owner: string;
  readonly startedAt: Instant;
  /** The time after which no new item is started. */
  readonly endsAt: Instant;
  /** The peers that this run has called, by their names. */
  readonly peers: Map<string, PeerInRun>;
  /** The peers whose work this run has deferred because they have asked to wait, each with the end of its wait. */
  readonly pauses: Map<string, Instant>;
}

export function startRun(
  mode: Run["mode"],
  { now, random, intervals }: Pick<ConnectorDeps, "now" | "random" | "intervals">,
): Run {
  const startedAt = now();
  return {
    mode,
    owner: Buffer.from(random(12)).toString("base64url"),
    startedAt,
    endsAt: plus(startedAt, mode === "timer" ? intervals.jobTimerMs : intervals.jobOnDemandMs),
    peers: new Map(),
    pauses: new Map(),
  };
}

export const newLease = ({ owner }: Run, now: Instant, { leaseMs: lease }: ConnectorDeps["intervals"]): Lease => ({
  owner,
  until: plus(now, lease),
});

export const isLeasedByAnother = (lease: Lease | undefined, { owner }: Run, now: Instant): boolean =>
  lease !== undefined && lease.owner !== owner && lease.until > now;

/**
 * Seconds after which a caller should retry that was refused because of a lease. Jobs release a lease within seconds of
 * their last call; only after a crash it lasts until it expires.
 */
export const retryAfterLease = 5;

/** Whether the run may work on an item: when it is due, or on demand unless before a peer's Retry-After. */
export const isDue = (item: Pick<Due, "at" | "notBefore">, { mode }: Run, now: Instant): boolean =>
  item.at <= now || (mode === "on_demand" && (item.notBefore ?? now) <= now);

/** Whether the time of the run is over, so that it starts no new item. */
export const isPastDeadline = ({ endsAt }: Run, { now }: Pick<ConnectorDeps, "now">): boolean => now() >= endsAt;
