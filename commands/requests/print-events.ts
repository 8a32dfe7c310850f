import type { EventSink, RequestEvent } from "../../docs/openapi/connector.ts";
import { printTable } from "../operator-command.ts";

/** Prints the events of a request with their deliveries, and the state of each event sink over all requests. */
export function printEvents({ data, sinks }: { readonly data: RequestEvent[]; readonly sinks: EventSink[] }): void {
  printTable(
    ["TIME", "EVENT", "ID", "DELIVERIES"],
    data.map(({ time, type, id, deliveries }) => [
      time,
      type,
      id,
      deliveries
        .map(({ sink, state, error_message }) => `${sink} ${state}${error_message ? `: ${error_message}` : ""}`)
        .join("; "),
    ]),
  );
  if (sinks.length === 0) return;
  console.log("");
  printTable(
    ["SINK", "STATE", "SINCE OR UNTIL", "FAILED CALLS", "LAST FAILURE", "REASON"],
    sinks.map(({ sink, state, stopped_at, paused_until, failed_attempts, failed_at, error_message }) => [
      sink,
      state,
      stopped_at ?? paused_until,
      failed_attempts,
      failed_at,
      error_message,
    ]),
  );
}
