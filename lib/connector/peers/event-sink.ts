import { createHash } from "node:crypto";
import { withTimeout } from "../../platform/async/with-timeout.ts";
import { kindOfStatus, neverConnected, retryAfterSeconds } from "../../platform/peers/http-failure.ts";
import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { traceCall } from "../../platform/peers/trace-call.ts";
import type { Now } from "../../platform/time.ts";
import { eventContentType } from "../events/cloud-event.ts";
import type { CloudEvent } from "../events/cloud-event-schemas.ts";
import { signatureHeaders } from "../events/sign-event.ts";

/** An external system to which events are sent. */
export interface EventSink {
  /** Its position in the settings, from 1. */
  readonly number: number;
  /** A digest of its address, by which a stopped sink with a new address is recognized. */
  readonly address: string;
  /**
   * Signs and sends an event. Throws PeerFailure unless the sink answers 2xx in time.
   * @param signal ends the call early
   */
  send(event: CloudEvent, signal?: AbortSignal): Promise<void>;
}

/** The status and Retry-After of a sink's answer. Its body is not read. */
export interface SinkAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Posts a message. Does not follow redirects. Rejects if the address may not be called, if no connection is made, if
 * the sink closes it without an answer, or when the signal fires.
 */
export type Post = (url: string, message: Message, signal: AbortSignal) => Promise<SinkAnswer>;

interface SinkOptions {
  readonly number: number;
  readonly url: string;
  /** Returns the signing secrets, read at each call, so that a rotated one is used. */
  readonly secrets: () => Promise<readonly string[]>;
  readonly post: Post;
  /** The time limit of one call, the read of the secrets included. */
  readonly timeLimitMs: number;
  readonly now: Now;
}

/**
 * Connects an event sink. Failures and logs name its number, and never its address, which may have a token in its path.
 */
export function connectEventSink({ number, url, secrets, post, timeLimitMs, now }: SinkOptions): EventSink {
  const peer = `event sink ${number}`;
  const signed = async (event: CloudEvent): Promise<Message> => {
    const body = JSON.stringify(event);
    const timestamp = Math.floor(Date.parse(now()) / 1000);
    const signature = await secrets()
      .then(values => signatureHeaders({ id: event.id, timestamp, body }, values))
      .catch((cause: unknown) => {
        throw new PeerFailure(peer, "sign event", "unreachable", { cause });
      });
    return { headers: { "content-type": eventContentType, ...signature }, body };
  };
  return {
    number,
    address: createHash("sha256").update(url).digest("base64url"),
    send: (event, ended) =>
      traceCall(peer, "send event", async span => {
        const { status, retryAfter } = await withTimeout(
          timeLimitMs,
          async signal => post(url, await signed(event), signal),
          ended,
        ).catch((cause: unknown) => {
          if (cause instanceof PeerFailure) throw cause;
          throw new PeerFailure(peer, "send event", neverConnected(cause) ? "unreachable" : "unanswered", { cause });
        });
        span.label({ "http.response.status_code": status });
        if (status >= 200 && status < 300) return;
        const seconds = retryAfterSeconds(retryAfter, now);
        throw new PeerFailure(peer, "send event", kindOfStatus(status, seconds), { status, retryAfter: seconds });
      }),
  };
}
