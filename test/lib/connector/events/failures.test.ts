import { describe, expect, test } from "vitest";
import { readEvents } from "../../../../lib/connector/events/read-events.ts";
import { resendEvent } from "../../../../lib/connector/events/resend-event.ts";
import { sendEventsAfterJob } from "../../../../lib/connector/events/send-events.ts";
import { between, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/peer.ts";
import {
  connectorWith,
  course,
  firstArrivals,
  idsAt,
  newSinkSecret,
  send,
  sinkOfFile,
} from "../../../support/connector/event-sinks.ts";
import { peersOfFile, type TestConnector } from "../../../support/connector/test-connector.ts";
import { deadAddress } from "../../../support/dead-address.ts";
import { readPart, tables, writePart } from "../jobs/failures/play/document.ts";
import type { Row } from "../jobs/failures/play/play.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);

/** How a call fails: a fault of the sink, no connection, or a wrong secret in the vault. */
type Failure = FaultRule | "no connection" | "wrong secret";

const refusal = (status: number) => [String(status), { kind: "refuse", status }] as const;

const failures: Readonly<Record<string, Failure>> = {
  "wrong secret in the vault": "wrong secret",
  "connection refused": "no connection",
  ...Object.fromEntries([302, 400, 401, 404].map(refusal)),
  "410": { kind: "refuse", status: 410 },
  "429, Retry-After 90": { kind: "throttle", retryAfter: 90 },
  "500": { kind: "refuse", status: 500 },
  "time-out": { kind: "hang" },
  closed: { kind: "drop" },
  garbage: { kind: "nonsense", phase: "after" },
  "500 though done": { kind: "refuse", status: 500, phase: "after" },
  "time-out though done": { kind: "hang", phase: "after" },
  "closed though done": { kind: "drop", phase: "after" },
};

interface Step {
  readonly failures: readonly string[];
  /** Whether the event was delivered before the calls fail. */
  readonly isDelivered?: boolean;
  /** Sends the event. Returns the response to the caller, if there is one. */
  readonly send: (
    host: TestConnector,
    event: { readonly requestId: string; readonly eventId: string },
    failure: string,
  ) => Promise<string>;
}

const few = ["connection refused", "410", "429, Retry-After 90", "500"];

const steps: Readonly<Record<string, Step>> = {
  "First event of a request, timer": {
    failures: Object.keys(failures),
    send: async host => {
      await send(host);
      return "";
    },
  },
  "First event of a request, end of a job": {
    failures: [...few, "time-out", "closed though done"],
    send: async ({ context }, _, failure) => {
      // The job waits for 2 seconds. A busy machine may need longer for a call that fails by itself.
      await sendEventsAfterJob(context, failure === "time-out" ? seconds(2) : minutes(1));
      return "";
    },
  },
  "Delivered event that is sent again": {
    failures: [...few, "closed though done"],
    isDelivered: true,
    send: async ({ context }, event) => {
      const { deliveredAt } = await resendEvent({ ...event, sink: 1 }, context);
      return deliveredAt === undefined ? "200, not delivered" : "200, delivered";
    },
  },
};

/** Where each row of the table is kept, by step. */
const rows: Readonly<Record<string, Row[]>> = Object.fromEntries(Object.keys(steps).map(step => [step, []]));

const firstEvent = async ({ context }: TestConnector, requestId: string) => {
  const [event] = readEvents(await context.events.load(requestId));
  if (event === undefined) throw new Error("the request has no event");
  return event;
};

/** A host whose calls to the sink fail. Its random bytes are 0, so that its back-off has no jitter. */
async function failingHost(connector: TestConnector, failure: Failure): Promise<TestConnector> {
  if (failure === "wrong secret") peers.vault.set("event-sink-1", "a password");
  const settings: Record<string, string> =
    failure === "no connection" ? { EVENT_SINK_URLS: `${deadAddress}/hook` } : {};
  if (typeof failure !== "string") sink.fail(failure);
  return connector.anotherInstance({
    settings,
    limits: { eventCallMs: 5000 },
    ports: () => ({ random: size => new Uint8Array(size) }),
  });
}

/** Returns when the sink gets the event again, in the words of the table. */
async function again(
  { context, now }: TestConnector,
  { state, next_attempt_at: next }: { readonly state: string; readonly next_attempt_at?: string | undefined },
): Promise<string> {
  if (state === "delivered") return "never";
  const { stopped, notBefore } = await context.events.sinkState(1);
  if (stopped !== undefined) return "after resume-events";
  if (next === undefined) return "at once";
  const inSeconds = Math.round(between(now(), next) / 1000);
  const after = inSeconds === 60 ? "in 1 min" : `in ${inSeconds} s`;
  return notBefore === undefined ? after : `${after}, not before`;
}

describe.each(Object.entries(steps))("%s", (title, step) => {
  test.each(step.failures)("%s: no event is lost, overtaken or delivered under another id", async name => {
    const failure = failures[name] as Failure;
    const connector = await connectorWith(peers, [sink]);
    const { requestId } = await connector.order();
    const { id: eventId } = await firstEvent(connector, requestId);
    if (step.isDelivered) await send(connector);
    const host = await failingHost(connector, failure);
    const answer = await step.send(host, { requestId, eventId }, name);
    const [delivery] = (await firstEvent(connector, requestId)).deliveries;
    if (delivery === undefined) throw new Error("the event has no delivery");
    const { state, error_message: shown = "" } = delivery;
    const message = shown.replace(new URL(sink.url).origin, "<sink>");
    const shownAgain = await again(connector, delivery);

    if (failure === "wrong secret") peers.vault.set("event-sink-1", newSinkSecret());
    sink.clearFaults();
    connector.advance(minutes(5));
    await connector.context.events.changeSinkState(1, () => ({}));
    await connector.runJobs();
    await send(connector);
    connector.advance(hours(1));
    expect(await send(connector)).toEqual({ delivered: 0, failed: 0, givenUp: 0, deferred: 0 });
    expect(firstArrivals(sink)).toEqual(course);
    expect(new Set(idsAt(sink)).size).toBe(course.length);
    const [after] = (await firstEvent(connector, requestId)).deliveries;
    rows[title]?.push({
      peer: "event sink",
      call: "send event",
      failure: name,
      answer,
      state,
      message,
      again: shownAgain,
      end: after?.state ?? "",
    });
  });
});

test("docs/failures.md has the table of what was proven: events", () => {
  const written = tables(Object.entries(rows).map(([title, of]) => ({ title, rows: of })));
  if (process.env.WRITE_FAILURES !== undefined) writePart("events", written);
  expect(readPart("events")).toBe(written.trim());
});
