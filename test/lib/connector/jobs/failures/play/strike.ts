import type { Peers } from "../../../../../../local/peers/all.ts";
import type { ConnectorOptions } from "../../../../../support/connector/test-connector.ts";
import { deadAddress } from "../../../../../support/dead-address.ts";
import type { Failure, Stage, Step } from "../stage.ts";

const forEver = 1000;

/** Makes the step's calls fail until `recover`. @returns what a connector needs for that */
export async function strike(stage: Stage, { at }: Step, { by }: Failure): Promise<ConnectorOptions> {
  const peer = stage.peers[at.peer];
  if (by === "away") return at.peer === "mail" ? awayMail(stage.peers) : awayPeer(stage.peers, at);
  if ("begin" in by) {
    await by.begin(stage);
    return {};
  }
  const { method, path, after = 0 } = at;
  if (after > 0) peer.fail({ kind: "delay", ms: 0, times: after, method, path });
  peer.fail({ ...by, times: forEver, method, path });
  return {};
}

export async function recover(stage: Stage, { at }: Step, { by }: Failure): Promise<void> {
  stage.peers[at.peer].clearFaults();
  if (by !== "away" && "end" in by) await by.end?.(stage);
}

/** The calls go to an address that refuses connections. */
function awayPeer(peers: Peers, { peer, method, path, after = 0 }: Step["at"]): ConnectorOptions {
  let before = after;
  return {
    fetch: (input, init) => {
      const url = new URL(String(input));
      const fits =
        url.origin === peers[peer].url &&
        (init?.method ?? "GET") === method &&
        new RegExp(path).test(decodeURIComponent(url.pathname));
      return fetch(fits && before-- <= 0 ? deadAddress + url.pathname : input, init);
    },
  };
}

/** The SDK of the mail service makes its calls itself. */
function awayMail({ mail }: Peers): ConnectorOptions {
  return { settings: { EMAIL_CONNECTION_STRING: mail.connectionString.replace(mail.url, deadAddress) } };
}
