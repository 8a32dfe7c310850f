import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { idpFile } from "../../../local/peers/all.ts";
import { resetPeers } from "../../support/connector/reset-peers.ts";
import type { HostProcess } from "../../support/host/host-process.ts";
import type { Limits } from "../../support/host/limits.ts";
import { type PausingProxy, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { reconcileSoon, startTestSystem, type TestSystem } from "../../support/host/system.ts";
import { killAt, longLimits, pastLongLimitsMs, type WorkToKill } from "../kill-points.ts";

/** A system on which one host after another is killed, with all three IdPs. */
export interface Lane {
  readonly system: TestSystem;
  readonly proxy: PausingProxy;
  host(): Promise<HostProcess>;
  /** A host that soon reconciles what create handlers left, and fails the request after one look. */
  reconciler(): Promise<HostProcess>;
  /** Has a host do each work until it waits at its point, and kills it. The next one is a new host, after all leases. */
  killed(works: readonly WorkToKill[], which?: "host" | "reconciler"): Promise<void>;
  close(): Promise<void>;
}

/**
 * The lane of a test file, which serves one group of tests after another and ends with the file. Nothing is counted
 * before a group.
 * @param settings of every host
 * @param limits of every host
 */
export function laneOfFile(settings: Readonly<Record<string, string>>, limits: Limits = {}): () => Lane {
  let opened: Lane;
  beforeAll(async () => {
    opened = await openLane(settings, limits);
  });
  afterAll(() => opened.close());
  return () => {
    resetPeers(opened.system.peers);
    return opened;
  };
}

async function openLane(settings: Readonly<Record<string, string>>, limits: Limits): Promise<Lane> {
  const directory = mkdtempSync(join(tmpdir(), "idps-"));
  const path = join(directory, "idps.yaml");
  const system = await startTestSystem(
    { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path, ...settings },
    limits,
  );
  writeFileSync(path, idpFile(system.peers));
  const proxy = await startPausingProxy(system.storage.tableUrl);
  const reconciling = { ...longLimits, ...reconcileSoon, reconcileForMs: 0 };
  const start = {
    host: () => system.startHost({ through: proxy, limits: longLimits }),
    reconciler: () => system.startHost({ through: proxy, limits: reconciling }),
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
    killed: async (works, which = "host") => {
      const victim = await hostOf(which);
      delete living[which];
      await killAt(victim, works);
      for (const peer of Object.values(system.peers)) peer.clearFaults();
      system.clock.advance(pastLongLimitsMs);
    },
    close: async () => {
      await proxy.close();
      await system.close();
      rmSync(directory, { recursive: true });
    },
  };
}
