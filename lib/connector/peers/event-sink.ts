import { createHash } from "node:crypto";
import { kindOfStatus, neverConnected, retryAfterSeconds } from "../../peers/http-failure.ts";
import { PeerFailure } from "../../peers/peer-failure.ts";
import type { Now } from "../../time.ts";
import { type CloudEvent, eventContentType } from "../events/cloud-event.ts";
import { signatureHeaders } from "../events/sign-event.ts";
import { traceCall } from "../http/trace.ts";

/** An external system to which events are sent. */
export interface EventSink {
  /** Its position in the settings, from 1. */
  readonly number: number;
  /** A digest of its address, by which a stopped sink with a new address is recognized. */
  readonly address: string;
  /** Signs and sends an event. Throws PeerFailure unless the sink answers 2xx. */
  send(event: CloudEvent): Promise<void>;
}

/** The status and Retry-After of a sink's answer. Its body is not read. */
export interface SinkAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
}

/**
 * Posts a message. Does not follow redirects. Rejects if the address may not be called, if no connection is made, or if
 * the sink does not answer in time.
 */
export type Post = (
  url: string,
  message: { readonly headers: Readonly<Record<string, string>>; readonly body: string; readonly timeLimitMs: number },
) => Promise<SinkAnswer>;

interface SinkOptions {
  readonly number: number;
  readonly url: string;
  /** Returns the signing secrets, read at each call, so that a rotated one is used. */
  readonly secrets: () => Promise<readonly string[]>;
  readonly post: Post;
  readonly timeLimitMs: number;
  readonly now: Now;
}

/**
 * Connects an event sink. Failures and logs name its number, and never its address, which may have a token in its path.
 */
export function connectEventSink({ number, url, secrets, post, timeLimitMs, now }: SinkOptions): EventSink {
  const peer = `event sink ${number}`;
  return {
    number,
    address: createHash("sha256").update(url).digest("base64url"),
    send: event =>
      traceCall(peer, "send event", async span => {
        const body = JSON.stringify(event);
        const signed = await secrets()
          .then(values =>
            signatureHeaders({ id: event.id, timestamp: Math.floor(Date.parse(now()) / 1000), body }, values),
          )
          .catch((cause: unknown) => {
            throw new PeerFailure(peer, "sign event", "unreachable", { cause });
          });
        const headers = { "content-type": eventContentType, ...signed };
        const { status, retryAfter } = await post(url, { headers, body, timeLimitMs }).catch((cause: unknown) => {
          throw new PeerFailure(peer, "send event", neverConnected(cause) ? "unreachable" : "unanswered", { cause });
        });
        span.label({ "http.response.status_code": status });
        if (status >= 200 && status < 300) return;
        const seconds = retryAfterSeconds(retryAfter, now);
        throw new PeerFailure(peer, "send event", kindOfStatus(status, seconds), { status, retryAfter: seconds });
      }),
  };
}
