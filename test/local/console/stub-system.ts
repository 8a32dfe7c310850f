import { type Console, startConsole } from "../../../local/console/console.ts";
import type { ControlRoutes } from "../../../local/peers/control.ts";
import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../../../local/peers/peer.ts";
import { createStores } from "../../../local/start/system.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";

/** A console before a host and a peer, which stands for several, that answer whatever a test wants. */
export interface StubSystem {
  readonly console: Console;
  readonly host: Peer;
  readonly mail: Peer;
  readonly connectionString: string;
  /** What the host was called with. */
  readonly calls: readonly HttpCall[];
  close(): Promise<void>;
}

export const masterKey = "master_key";
export const tokens = { core: "core_token", connector: "connector_token" };

/** @param answer what the host says; 404 where undefined @param control what the peer's controls say */
export async function startStubSystem({
  answer = () => ({ status: 200, body: {} }),
  control = {},
}: {
  answer?: (call: HttpCall) => HttpAnswer | undefined;
  control?: ControlRoutes;
} = {}): Promise<StubSystem> {
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  const calls: HttpCall[] = [];
  const host = await startPeer("host", {
    handle: call => {
      calls.push(call);
      return answer(call);
    },
  });
  const mail = await startPeer("mail", { handle: () => undefined, control });
  const console = await startConsole({ connectionString, tokens, peers: { mail: mail.url, rfpr: mail.url } });
  console.hostIs(host.url, { masterKey });
  return {
    console,
    host,
    mail,
    connectionString,
    calls,
    close: async () => {
      await Promise.all([console.close(), host.close(), mail.close()]);
    },
  };
}
