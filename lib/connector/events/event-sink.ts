import { createHash } from "node:crypto";
import * as z from "zod";
import { raceAbort } from "../../platform/async/race-abort.ts";
import { withTimeoutSignal } from "../../platform/async/with-timeout-signal.ts";
import { callPeer, type PeerTools } from "../../platform/peers/call-peer.ts";
import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { eventContentType } from "./cloud-event.ts";
import type { CloudEvent } from "./cloud-event-schemas.ts";
import { signatureHeaders } from "./sign-event.ts";

/** An external system to which events are sent. */
export interface EventSink {
  /** Its position in the settings, from 1. */
  readonly number: number;
  /** A digest of its address, by which a stopped sink with a new address is recognized. */
  readonly address: string;
  /**
   * Signs and sends an event. Throws PeerFailure unless the sink responds 2xx in time.
   * @param signal ends the call early
   */
  send(event: CloudEvent, signal?: AbortSignal): Promise<void>;
}

interface SinkOptions extends PeerTools {
  readonly number: number;
  readonly url: string;
  /** Returns the signing secrets, read at each call, so that a rotated one is used. */
  readonly secrets: () => Promise<readonly string[]>;
  /** The time limit of one call, the read of the secrets included. */
  readonly timeLimitMs: number;
}

/**
 * Connects an event sink. Failures and logs name its number, and never its address, which may have a token in its path.
 */
export function connectEventSink({ number, url, secrets, ...rest }: SinkOptions): EventSink {
  const access = { ...rest, peer: `event sink ${number}` };
  return {
    number,
    address: createHash("sha256").update(url).digest("base64url"),
    send: (event, ended) =>
      withTimeoutSignal(access.timeLimitMs, ended, async signal => {
        const body = JSON.stringify(event);
        const timestamp = Math.floor(Date.parse(access.now()) / 1000);
        const signature = await raceAbort(secrets(), signal)
          .then(values => signatureHeaders({ id: event.id, timestamp, body }, values))
          .catch((cause: unknown) => {
            throw new PeerFailure(access.peer, "sign event", "unreachable", { cause });
          });
        const headers = { "content-type": eventContentType, ...signature };
        const request = { operation: "send event", method: "POST", url, headers, body, signal } as const;
        await callPeer(access, { ...request, response: z.unknown() });
      }),
  };
}
