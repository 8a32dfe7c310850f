import { type Peer, startPeer } from "../peer.ts";

/** An event as the sink received it. */
export interface ReceivedEvent {
  readonly headers: Readonly<Record<string, string>>;
  /** The body as sent, as the signature covers it. */
  readonly body: string;
}

export interface Sink extends Peer {
  /** Received events, oldest first, repeated ones too. */
  events(): readonly ReceivedEvent[];
  clearEvents(): void;
}

/** The most events that are kept. */
const maxEvents = 10_000;

/**
 * Starts a simulated receiver of events: it accepts everything and verifies nothing, so that its rules of
 * `/_control/faults` decide what the connector gets. `GET /_control/events` returns what it received.
 */
export async function startSink({ port }: { port?: number } = {}): Promise<Sink> {
  let received: ReceivedEvent[] = [];
  const clearEvents = () => {
    received = [];
  };
  const peer = await startPeer("sink", {
    port,
    handle: ({ method, headers, body }) => {
      if (method !== "POST") return undefined;
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      received = [...received.slice(1 - maxEvents), { headers: Object.fromEntries(texts), body: body.toString() }];
      return { status: 204 };
    },
    control: ({ method, path }) => {
      switch (`${method} ${path}`) {
        case "GET /_control/events":
          return { status: 200, body: received };
        case "DELETE /_control/events":
          clearEvents();
          return { status: 204 };
        default:
          return undefined;
      }
    },
  });
  return { ...peer, events: () => received, clearEvents };
}
