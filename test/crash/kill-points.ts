import { expect } from "vitest";
import type { FaultRule, Peer } from "../../local/peers/peer.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { Limits } from "../support/host/limits.ts";
import type { HoldRule, PausingProxy } from "../support/host/pausing-proxy.ts";

/** Where the work of a host waits until the host is killed. */
export interface Point {
  /** Resolves when the work waits there. */
  reached(): Promise<void>;
  /** Cuts, after the kill, what is still on its way. */
  cut(): void;
}

/** A write of the host that its proxy pauses, `request`: before storage has it, `response`: after that. It never arrives later. */
export function atWrite(proxy: PausingProxy, phase: HoldRule["phase"], write: Omit<HoldRule, "phase">): Point {
  const hold = proxy.hold({ phase, ...write });
  return { reached: () => hold.untilHeld(), cut: hold.drop };
}

export interface PeerCall extends Pick<FaultRule, "method" | "path" | "phase"> {
  /** How many such calls go well before. */
  readonly skip?: number;
}

/** A call that the peer never answers, `before` it has done anything or `after` it has. */
export function inCall(peer: Peer, { skip = 0, ...call }: PeerCall): Point {
  if (skip > 0) peer.fail({ kind: "delay", ms: 0, times: skip, ...call, phase: "before" });
  const others = peer.hanging();
  peer.fail({ kind: "hang", ...call });
  return { reached: () => peer.untilHanging(others + 1), cut: () => {} };
}

/** Work of a host, and the point at which it is to wait. `arrange` runs just before the work, so that no other work meets the point. */
export interface WorkToKill {
  readonly name: string;
  readonly work: (host: HostProcess) => Promise<unknown>;
  readonly arrange: () => Point | Promise<Point>;
  /** The work is answered when it has begun: a timer. */
  readonly isTimer?: boolean;
}

/**
 * Has the host begin one piece of work after another, each of which waits at its point, and kills the host when all of
 * them wait. One kill for many points, because the start of a host is what such a test costs.
 */
export async function killAt(host: HostProcess, all: readonly WorkToKill[]): Promise<void> {
  const ended: Promise<string>[] = [];
  const points: Point[] = [];
  for (const { name, work, arrange, isTimer = false } of all) {
    const point = await arrange();
    points.push(point);
    const end = work(host).then(
      answer => `${name}: answered ${JSON.stringify(answer)}: ${host.errors()}`,
      () => "unanswered",
    );
    if (!isTimer) ended.push(end);
    // Work that ends before the point will never reach it.
    await Promise.race([
      point.reached(),
      isTimer ? point.reached() : end.then(early => expect(early).toBe("unanswered")),
    ]);
  }
  await host.kill();
  for (const end of ended) expect(await end).toBe("unanswered");
  for (const { cut } of points) cut();
}

/**
 * Time limits of a host that is killed: however long it takes until its last point is reached, the work at the first
 * one still waits.
 */
export const longLimits = {
  storageCallMs: 600_000,
  idpCallMs: 600_000,
  enrollmentCallMs: 600_000,
  mailCallMs: 600_000,
  deliveryCallMs: 600_000,
  createMs: 600_000,
  // A call begins only if its time limit ends before the lease.
  leaseMs: 3_600_000,
  receivedMaxAgeMs: 601_000,
  claimRunningMs: 600_000,
} satisfies Limits;

/** Longer than any lease and time limit of a host with `longLimits`. */
export const pastLongLimitsMs = 3_700_000;
