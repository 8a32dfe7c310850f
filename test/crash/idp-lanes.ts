import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { idpFile } from "../../local/peers/all.ts";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { type HoldRule, type PausingProxy, startPausingProxy } from "../support/host/pausing-proxy.ts";
import { reconcileSoon, startTestSystem, type TestSystem } from "../support/host/system.ts";

/** A system on which one host after another is killed, with all three IdPs. */
export interface Lane {
  readonly system: TestSystem;
  readonly proxy: PausingProxy;
  host(): Promise<HostProcess>;
  /** A host that soon reconciles what create handlers left, and fails the request after one look. */
  reconciler(): Promise<HostProcess>;
  /** Has a host work and kills it when the point is reached. */
  killed(
    work: (host: HostProcess) => Promise<unknown>,
    point: () => Promise<void>,
    whom?: "host" | "reconciler",
  ): Promise<void>;
  close(): Promise<void>;
}

/**
 * The lane of a test file, which serves one test after another and ends with the file.
 * @param settings of every host
 */
export function laneOfFile(
  settings: Readonly<Record<string, string>>,
): <T>(work: (lane: Lane) => Promise<T>) => Promise<T> {
  let opened: Lane;
  beforeAll(async () => {
    opened = await openLane(settings);
  });
  afterAll(() => opened.close());
  return work => {
    resetPeers(opened.system.peers);
    return work(opened);
  };
}

async function openLane(settings: Readonly<Record<string, string>>): Promise<Lane> {
  const directory = mkdtempSync(join(tmpdir(), "idps-"));
  const path = join(directory, "idps.yaml");
  const system = await startTestSystem({ IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path, ...settings });
  writeFileSync(path, idpFile(system.peers));
  const proxy = await startPausingProxy(system.storage.tableUrl);
  const start = {
    host: () => system.startHost({ through: proxy }),
    reconciler: () => system.startHost({ through: proxy, settings: { ...reconcileSoon, RECONCILE_DAYS: "0" } }),
  };
  const living: { host?: Promise<HostProcess>; reconciler?: Promise<HostProcess> } = {};
  const hostOf = (kind: keyof typeof start) => {
    living[kind] ??= start[kind]();
    return living[kind];
  };
  return {
    system,
    proxy,
    host: () => hostOf("host"),
    reconciler: () => hostOf("reconciler"),
    killed: async (work, point, whom = "host") => {
      const victim = await hostOf(whom);
      const ended = work(victim).then(
        answer => `answered ${JSON.stringify(answer)}: ${victim.errors()}`,
        () => "unanswered",
      );
      // Work that ends before the point will never reach it.
      await Promise.race([point(), ended.then(early => expect(early).toBe("unanswered"))]);
      await victim.kill();
      delete living[whom];
      expect(await ended).toBe("unanswered");
    },
    close: async () => {
      await proxy.close();
      await system.close();
      rmSync(directory, { recursive: true });
    },
  };
}

/** The point at which the proxy pauses a write. The paused write never arrives. */
export function pausedWrite(
  { proxy }: Lane,
  phase: HoldRule["phase"],
  write: Omit<HoldRule, "phase">,
): () => Promise<void> {
  const hold = proxy.hold({ phase, ...write });
  return async () => {
    await hold.untilHeld();
    hold.drop();
  };
}

/** The point at which a peer has been called: `before` it has done anything, or `after` it has. */
export function called(
  { system }: Lane,
  name: Exclude<keyof TestSystem["peers"], "vault" | "issuer">,
  call: { readonly method: string; readonly path: string; readonly phase?: "before" | "after"; readonly skip?: number },
): () => Promise<void> {
  const { skip = 0, ...rule } = call;
  const peer = system.peers[name];
  if (skip > 0) peer.fail({ kind: "delay", ms: 0, times: skip, method: rule.method, path: rule.path });
  peer.fail({ kind: "hang", ...rule });
  return () => peer.untilHanging();
}
