import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newRequestId } from "../../../../../../lib/connector/model/draft.ts";
import { days } from "../../../../../../lib/platform/time.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../../../../../local/peers/all.ts";
import { createStores } from "../../../../../../local/start/system.ts";
import { resetPeers } from "../../../../../support/connector/reset-peers.ts";
import { testConnector } from "../../../../../support/connector/test-connector.ts";
import { type FreshStorage, freshStorage } from "../../../../../support/storage/fresh-storage.ts";
import type { Body } from "../../../api/v2/bodies.ts";
import type { Stage } from "../stage.ts";

/** Peers and storage on which one row after another is played. */
interface Lane {
  stage(body: Body): Promise<Stage>;
  close(): Promise<void>;
}

/** Lanes for as many rows as are played at once, made when they are needed. */
export function createLanes(): {
  during<T>(body: Body, work: (stage: Stage) => Promise<T>): Promise<T>;
  close(): Promise<void>;
} {
  const all: Lane[] = [];
  const free: Lane[] = [];
  const open = async (): Promise<Lane> => {
    const lane = await openLane();
    all.push(lane);
    return lane;
  };
  return {
    during: async (body, work) => {
      const lane = free.pop() ?? (await open());
      try {
        return await work(await lane.stage(body));
      } finally {
        free.push(lane);
      }
    },
    close: async () => {
      await Promise.all(all.map(lane => lane.close()));
    },
  };
}

async function openLane(): Promise<Lane> {
  const storage = freshStorage();
  const [peers] = await Promise.all([startPeers(), createStores(storage.connectionString)]);
  peers.delivery.settings({ shipAfterMs: 0 });
  const directory = mkdtempSync(join(tmpdir(), "idps-"));
  const path = join(directory, "idps.yaml");
  writeFileSync(path, idpFile(peers));
  return {
    stage: body => setUp(peers, storage, path, body),
    close: async () => {
      rmSync(directory, { recursive: true });
      await closePeers(peers);
    },
  };
}

async function setUp(peers: Peers, storage: FreshStorage, idpPath: string, body: Body): Promise<Stage> {
  resetPeers(peers);
  // Half a day of looking-up shows what three do.
  const settings = { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: idpPath };
  const connector = await testConnector(peers, { storage, settings, limits: { reconcileForMs: days(0.5) } });
  return { peers, connector, requestId: newRequestId(connector.context.random), body };
}
