import { createHash, createHmac } from "node:crypto";
import * as z from "zod";
import { raceAbort, withTimeoutSignal } from "../../platform/async.ts";
import { callPeer, type PeerTools } from "../../platform/call-peer.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { EventType } from "../model/states.ts";
import { type CloudEvent, eventContentType } from "./cloud-event.ts";

/** An external system to which events are sent. */
export interface EventSink {
  /** Its position in the settings, from 1. */
  readonly number: number;
  /** The types of events that it gets; undefined for all. */
  readonly types?: readonly EventType[] | undefined;
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
  readonly types?: readonly EventType[] | undefined;
  /** Returns the signing secrets, read at each call, so that a rotated one is used. */
  readonly secrets: () => Promise<readonly string[]>;
  /** The time limit of one call, the read of the secrets included. */
  readonly timeLimitMs: number;
}

/**
 * Connects an event sink. Failures and logs name its number, and never its address, which may have a token in its path.
 */
export function connectEventSink({ number, url, types, secrets, ...rest }: SinkOptions): EventSink {
  const access = { ...rest, peer: `event sink ${number}` };
  return {
    number,
    types,
    address: createHash("sha256").update(url).digest("base64url"),
    send: (event, ended) =>
      withTimeoutSignal(access.timeLimitMs, ended, async signal => {
        const body = JSON.stringify(event);
        const timestamp = Math.floor(Date.parse(access.now()) / 1000);
        const signature = await raceAbort(secrets(), signal)
          .then(values => signatureHeaders({ id: event.id, timestamp, body }, values))
          .catch((cause: unknown) => {
            const detail = `event-sink-${number} is missing in the vault, is not whsec_ with base64, or cannot be read`;
            throw new PeerFailure(access.peer, "sign event", "unreachable", { cause, detail });
          });
        const headers = { "content-type": eventContentType, ...signature };
        const request = { operation: "send event", method: "POST", url, headers, body, signal } as const;
        await callPeer(access, { ...request, response: z.unknown() }).catch(withoutAddress);
      }),
  };
}

/** Handles the failure of a call: that of a redirect names the addresses. */
function withoutAddress(error: unknown): never {
  const { status = 0 } = error instanceof PeerFailure ? error : {};
  if (!(error instanceof PeerFailure) || status < 300 || status > 399) throw error;
  throw error.as(error.kind, {
    detail: "It redirects to another address, which is not followed: correct EVENT_SINK_URLS.",
    cause: undefined,
  });
}

/** Returns why a call to a sink failed, for people: never its address, which the errors of the system quote. */
export function failureText({ message, detail, cause }: PeerFailure): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  const isWord = typeof code === "string" && /^[A-Z][A-Z0-9_]{1,63}$/.test(code);
  return [message, ...(detail === undefined ? [] : [detail]), ...(isWord ? [code] : [])].join(": ");
}

/** The parts of a message that are signed. */
interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Returns the headers of a message by the scheme of Standard Webhooks, with one signature for each secret. A receiver
 * accepts the message if any signature is right. Throws if the current secret does not have the form of Standard
 * Webhooks; the error does not quote the secret. Omits a former secret of another form, which was set by mistake.
 * @param secrets each `whsec_` and base64, the current one first
 */
export function signatureHeaders({ id, timestamp, body }: Message, secrets: readonly string[]): Record<string, string> {
  const [current, ...former] = secrets.map(signingKey);
  if (current === undefined)
    throw new Error("The signing secret of an event sink is not whsec_ with 24 to 64 bytes in base64.");
  const signatures = [current, ...former.filter(key => key !== undefined)].map(key => {
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}

/**
 * Returns the key of a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64; undefined for any other
 * text.
 */
function signingKey(secret: string): Uint8Array | undefined {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const key = Buffer.from(encoded, "base64");
  return key.length < 24 || key.length > 64 ? undefined : key;
}
