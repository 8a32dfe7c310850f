import { Webhook } from "standardwebhooks";
import { type HttpAnswer, type HttpCall, type PeerPlace, startPeer } from "../peer.ts";

/** An event as the sink received it. */
export interface ReceivedEvent {
  /** In ms since 1970. */
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as sent, as the signature covers it. */
  readonly body: string;
}

export type Sink = Awaited<ReturnType<typeof startSink>>;

interface SinkOptions extends Pick<PeerPlace, "port"> {
  /**
   * Returns the signing secrets. The sink refuses an event that is signed by none of them, or is old. By default it
   * verifies nothing.
   */
  readonly secrets?: () => readonly string[];
}

/** The most events that are kept. */
const maxEvents = 10_000;

/**
 * Starts a simulated receiver of events. Its rules of `/_control/faults` decide what the connector gets;
 * `GET /_control/events` returns what it accepted, and `DELETE` empties the list.
 */
export async function startSink({ port, secrets }: SinkOptions = {}) {
  let received: readonly ReceivedEvent[] = [];
  /** Returns the received events, oldest first, repeated ones too. */
  const events = () => received;
  const clearEvents = () => {
    received = [];
  };
  const receive = ({ method, headers, body: bytes }: HttpCall): HttpAnswer | undefined => {
    if (method !== "POST") return undefined;
    const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const body = bytes.toString();
    if (secrets?.().some(secret => isSignedBy(secret, body, texts)) === false)
      return { status: 401, body: { error: "The event is not signed by a known secret, or is old." } };
    received = [...received.slice(1 - maxEvents), { at: Date.now(), headers: texts, body }];
    return { status: 204 };
  };
  const peer = await startPeer("sink", {
    port,
    handle: receive,
    control: { "GET events": events, "DELETE events": clearEvents },
  });
  return { ...peer, events, clearEvents };
}

/** Returns whether a body has a signature of the secret that is at most 5 minutes old, by the library of the scheme. */
function isSignedBy(secret: string, body: string, headers: Readonly<Record<string, string>>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
