import { isAddress, setting } from "../platform/settings/setting.ts";
import { type EventType, eventTypes } from "./model/states.ts";

/** The maximum number of event sinks. Each change of a request writes one row for each sink. */
export const maxSinks = 5;

/** The entry of `EVENT_SINK_URLS` that keeps the number of a sink that was removed. */
export const noSink = "none";

/** Returns the name of the secret by which events for a sink are signed. */
export const sinkSecretName = (number: number): string => `event-sink-${number}`;

const isTypes = (entry: string): boolean =>
  entry === "all" || entry.split("+").every(type => eventTypes.some(known => known === type));

/** Returns the types of an entry of `EVENT_SINK_TYPES`; undefined for all. */
const typesOf = (entry: string): readonly EventType[] | undefined =>
  entry === "all" ? undefined : (entry.split("+") as EventType[]);

/** The settings of the events and their sinks. */
export const eventSettings = {
  EVENT_SINK_URLS: setting
    .list(
      "Comma-separated list of URLs to which events of requests are sent (docs/integrate.md). Set it if a system of yours reacts to events instead of polling. The position of a URL is the number of its sink: events for the first are signed with the secret `event-sink-1`. `none` keeps the position of a removed sink. Empty sends none.",
    )
    .refine(
      urls => urls.every(url => url === noSink || isAddress(url)),
      "must be https addresses (http only on the loopback), without credentials, or none",
    )
    .refine(urls => urls.length <= maxSinks, `must have at most ${maxSinks} entries`)
    .refine(
      urls => new Set(urls.filter(url => url !== noSink)).size === urls.filter(url => url !== noSink).length,
      "must not have the same address twice",
    )
    .withDefault(""),
  EVENT_SINK_TYPES: setting
    .list(
      `Comma-separated list of the types of events for each URL of \`EVENT_SINK_URLS\`, in its order: \`all\`, or types joined by \`+\`, as in \`all,credential.failed+pin_mail.given_up\`. Types are ${eventTypes.map(type => `\`${type}\``).join(", ")}. Set it if a receiver needs only some. A URL without an entry gets all.`,
    )
    .refine(entries => entries.every(isTypes), `must be all, or types joined by +: ${eventTypes.join(", ")}`)
    .transform(entries => entries.map(typesOf))
    .withDefault(""),
  EVENT_SINK_ALLOW_PRIVATE: setting
    .flag(
      "Whether event sinks may have private addresses; link-local addresses are refused in any case. Set it to true if a receiver is inside your network.",
    )
    .withDefault("false"),
  EVENT_RETRY_HOURS: setting
    .integer(
      1,
      720,
      "How long a failing delivery of an event is tried again, in hours. Then it is given up. Set it higher if a receiver may be away for longer than a weekend.",
    )
    .withDefault("72"),
  CRON_EVENT_SCHEDULE: setting
    .schedule("When due events are sent: six fields, UTC. Set it to run less often if receivers can wait.")
    .withDefault("0 * * * * *"),
};
