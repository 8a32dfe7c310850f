import { type PeerPlace, startPeer } from "../peer.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { openState } from "../state-file.ts";
import { createAgent } from "./agent.ts";
import { createRfprControls, rfprControlRoutes } from "./control.ts";
import type { Enrollment } from "./enrollment.ts";
import { createAuthenticatorRequests, type RfprState } from "./requests.ts";
import { rfprRoutes } from "./routes.ts";

/** The pre-registration API with the agent that enrolls its requests. */
export type Rfpr = Awaited<ReturnType<typeof startRfpr>>;

interface RfprOptions extends PeerPlace, Pick<Enrollment, "isValid"> {
  readonly maker: KeyMaker;
}

/** Starts the API of docs/peers/enrollment.md. */
export async function startRfpr({ port, statePath, maker, isValid }: RfprOptions) {
  // Different from the serial numbers of shipped keys.
  const file = openState<RfprState>(statePath, { nextSerial: 40_000_001, requests: {}, deleted: {} });
  const requests = createAuthenticatorRequests(file, maker);
  const agent = createAgent(requests, maker, () => String(file.value.nextSerial++));
  const { beforeView, ...controls } = createRfprControls({ requests, agent, save: file.save });
  const api = { requests, maker, isValid, beforeView };
  const peer = await startPeer("rfpr", {
    port,
    handle: call => rfprRoutes(api, call),
    control: rfprControlRoutes(controls),
  });
  return { ...peer, ...controls };
}
