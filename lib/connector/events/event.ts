import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { derivedGuid } from "../../platform/crypto.ts";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { type CredentialRequest, leaseSchema, replacesSchema, trackingSchema } from "../model/request.ts";
import { retrySchema } from "../model/retry.ts";
import { eventTypes, requestStates } from "../model/states.ts";

export const endStates = requestStates.filter(state => state !== "received" && state !== "started");
export const deliveryFailures = ["lost", "exception"] as const;

const text = z.string();
const count = z.int();

/** What happened, without the time and the names of the request. It has ids and states only. */
const occurrence = {
  type: z.enum(eventTypes),
  keyId: text.exactOptional(),
  /** The position of the credential on its security key, from 1. */
  credential: count.exactOptional(),
  idpId: text.exactOptional(),
  /** Whether the IdP may have registered the failed credential. */
  mayBeRegistered: z.literal(true).exactOptional(),
  /** The number of the PIN email of the key, from 1. It grows with a resend, and if an email was not delivered. */
  mail: count.exactOptional(),
  /** The mail service's error code of the last attempt to send the email. */
  errorCode: text.exactOptional(),
  /** The state in which the request ended, or why its shipment was not delivered. */
  state: z.enum([...endStates, ...deliveryFailures]).exactOptional(),
  /** The security key that the keys of the started request replace. */
  replaces: replacesSchema.exactOptional(),
};
export type Occurrence = Omit<RecordedEvents["events"][number], "sinks">;

/** Returns the schema of the events of one change of a request, as they are stored in one row. */
export const recordedEventsSchema = () =>
  z.object({
    /** The position of the first event in the request, from 1. */
    first: count,
    at: storedInstant,
    /** The numbers of the sinks that were configured at that time for events of these types. */
    sinks: z.array(count),
    /** Stored once, like the names: a row has little space for the events of 100 credentials. */
    shipmentId: text.exactOptional(),
    /**
     * The names by which people know the request, at the time of the event. Personal data is among them only if the
     * caller chose it as a name: an email is no name.
     */
    customerReference: text.exactOptional(),
    externalId: text.exactOptional(),
    tracking: trackingSchema.exactOptional(),
    /** Serial numbers by security key. */
    serials: z.record(text, text).exactOptional(),
    /** `sinks` of an occurrence: those that get it, if some sinks of the change do not want its type. */
    events: z.array(z.object({ ...occurrence, sinks: z.array(count).exactOptional() })),
  });
export type RecordedEvents = Immutable<z.output<ReturnType<typeof recordedEventsSchema>>>;
type EventNames = Pick<RecordedEvents, "customerReference" | "externalId" | "tracking" | "serials">;

/** An event of a request, as recorded. */
export interface RequestEvent extends Occurrence, Omit<EventNames, "serials"> {
  readonly requestId: string;
  /** The position of the event in its request, from 1, without gaps. */
  readonly sequence: number;
  readonly at: Instant;
  readonly shipmentId?: string;
  /** The serial number of its security key. */
  readonly serial?: string;
}

/** An event with the numbers of the sinks that get it. */
interface SentEvent extends RequestEvent {
  readonly sinks: readonly number[];
}

/**
 * Returns the id of an event, which is derived from the occurrence. So the same occurrence has the same id after a
 * crash, and also when it happens again to a request that was restored from a backup.
 */
export function eventId({
  requestId,
  type,
  keyId,
  credential,
  mail,
  state,
}: Omit<RequestEvent, "sequence" | "at">): string {
  const ended = state === undefined ? [] : [state];
  const what = [requestId, type, keyId, credential, mail, ...ended].map(part => part ?? "").join("/");
  return derivedGuid(`event/${what}`);
}

/** Returns the schema of the delivery of a request's events to one sink. They are sent in order, one after another. */
export const deliverySchema = () =>
  z.object({
    /** The position of the last event that is done: delivered, given up, or not for this sink. */
    done: count,
    /** When each event was delivered, by its position. */
    deliveredAt: z.record(text, storedInstant),
    /** The positions of the events that were given up. */
    givenUp: z.array(count),
    /** The failed attempts to deliver the next event. The time of the next attempt is in the index of due events. */
    retry: retrySchema.exactOptional(),
    lease: leaseSchema.exactOptional(),
  });
export type EventDelivery = Immutable<z.output<ReturnType<typeof deliverySchema>>>;

/** The delivery of a sink that was not called yet. */
export const nothingDone: EventDelivery = { done: 0, deliveredAt: {}, givenUp: [] };

/**
 * The most times of deliveries, and the most positions of given-up events, that the row of a delivery keeps: it has one
 * column for all. Those of the latest events are kept.
 */
const maxKept = 500;

/** Returns the delivery after an event was delivered, for the first time or again. */
export const withDelivered = (delivery: EventDelivery, { sequence }: RequestEvent, at: Instant): EventDelivery => ({
  ...delivery,
  done: Math.max(delivery.done, sequence),
  deliveredAt: Object.fromEntries<Instant>(
    Object.entries<Instant>({ ...delivery.deliveredAt, [sequence]: at }).slice(-maxKept),
  ),
  givenUp: delivery.givenUp.filter(each => each !== sequence),
});

/** Returns the delivery after an event was given up. */
export const withGivenUp = (delivery: EventDelivery, { sequence }: RequestEvent): EventDelivery => ({
  ...delivery,
  done: sequence,
  givenUp: [...delivery.givenUp, sequence].slice(-maxKept),
});

/** The recorded events of a request, and the state of their delivery to each sink. */
export interface LoadedEvents {
  readonly recorded: readonly RecordedEvents[];
  /** The recorded events one by one, in their order. */
  readonly events: readonly SentEvent[];
  readonly deliveries: ReadonlyMap<number, Stored<EventDelivery>>;
}

/** Returns the events of a request in their order. */
export const eventsIn = (requestId: string, recorded: readonly RecordedEvents[]): readonly SentEvent[] =>
  recorded.flatMap(({ first, serials, events, ...common }) =>
    events.map((occurrence, index) => {
      const serial = serials?.[occurrence.keyId ?? ""];
      return omitUndefined({ ...common, ...occurrence, requestId, serial, sequence: first + index });
    }),
  );

/** Returns the events of a request that a sink has not got, in their order. */
export const openEvents = (
  { events, deliveries }: LoadedEvents,
  sink: number,
  { done } = deliveries.get(sink)?.value ?? nothingDone,
): readonly SentEvent[] => events.filter(({ sinks, sequence }) => sinks.includes(sink) && sequence > done);

/**
 * Returns the request with the number of its events and the sinks of their deliveries. So changes that record events at
 * the same time conflict.
 */
export const withEvents = (
  { eventSinks = [], ...request }: CredentialRequest,
  { first, events, sinks }: RecordedEvents,
): CredentialRequest => ({
  ...request,
  eventCount: first + events.length - 1,
  eventSinks: [...new Set([...eventSinks, ...sinks])],
});
