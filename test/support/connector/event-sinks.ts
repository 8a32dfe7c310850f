import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeEach } from "vitest";
import type { CloudEvent } from "../../../lib/connector/events/cloud-event.ts";
import { type EventsReport, sendEvents } from "../../../lib/connector/events/send-events.ts";
import type { Peers } from "../../../local/peers/all.ts";
import { type Sink, startSink } from "../../../local/peers/sink/sink.ts";
import type { Vault } from "../../../local/peers/vault/vault.ts";
import { type ConnectorOptions, type TestConnector, testConnector } from "./test-connector.ts";

/** What a request of one key with one credential reports. */
export const course = ["request.started", "key.shipped", "credential.active", "request.ended", "pin_mail.sent"];

export const newSinkSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

/** Starts a sink for one test file, with a secret. It is empty and without faults before each test. */
export async function sinkOfFile(vault: Vault, number: number): Promise<Sink> {
  const sink = await startSink();
  vault.set(`event-sink-${number}`, newSinkSecret());
  beforeEach(() => {
    sink.clearFaults();
    sink.resetRequests();
    sink.clearEvents();
  });
  afterAll(() => sink.close());
  return sink;
}

/** A connector that sends events to these sinks, when a test asks for it and not at the end of jobs. */
export const connectorWith = (
  peers: Peers,
  sinks: readonly Pick<Sink, "url">[],
  { settings, ports, ...options }: ConnectorOptions = {},
): Promise<TestConnector> =>
  testConnector(peers, {
    ...options,
    settings: { EVENT_SINK_URLS: sinks.map(({ url }) => `${url}/hook`).join(","), ...settings },
    ports: (context, clock) => ({ sendEventsAfterJob: async () => {}, ...ports?.(context, clock) }),
  });

export const send = ({ context }: TestConnector): Promise<EventsReport> => sendEvents(context);

/**
 * The verified events of a sink. Throws for one that is not signed by the secret, or whose time is not that of its
 * signature.
 */
export const verified = (sink: Sink, secret: string): readonly CloudEvent[] =>
  sink.events().map(({ body, headers }) => new Webhook(secret).verify(body, headers) as CloudEvent);

export const typesAt = (sink: Sink): readonly string[] =>
  sink.events().map(({ body }) => (JSON.parse(body) as CloudEvent).type.replace("fido-connector.", ""));

export const idsAt = (sink: Sink): readonly string[] => sink.events().map(({ headers }) => headers["webhook-id"] ?? "");

/** The types of the events of a sink in the order in which each arrived first. */
export function firstArrivals(sink: Sink): readonly string[] {
  const ids = idsAt(sink);
  return typesAt(sink).filter((_, index) => ids.indexOf(ids[index] ?? "") === index);
}
