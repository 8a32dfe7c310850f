import type { EventSink, RequestEvent } from "../../../../docs/openapi/connector.ts";
import { callHost, readHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { refusalOf } from "../outcomes/refusal.ts";
import { Badge, Card, counted, FactList, html, time } from "../ui.ts";

interface EventsOfRequest {
  readonly data: readonly RequestEvent[];
  readonly sinks: readonly EventSink[];
}

/** Reads the events of a request, and the state of each event sink. Throws if that is refused. */
export async function readEvents(requestPath: string, signal: AbortSignal): Promise<EventsOfRequest> {
  const outcome = await readHost<EventsOfRequest>(`${requestPath}/events`, signal);
  if (outcome.status !== 200) throw new Error(refusalOf(outcome));
  return outcome.body;
}

/** Whether each event sink gets events, over all requests. */
export const SinkStates = ({ sinks }: { sinks: readonly EventSink[] }) =>
  html`<${Card} title="Event sinks" hint="Over all requests.">
    <${FactList} rows=${Object.fromEntries(sinks.map(each => [`Sink ${each.sink}`, sinkState(each)]))} />
  <//>`;

const sinkState = ({ state, paused_until, stopped_at, failed_attempts, failed_at, error_message }: EventSink) =>
  html`<${Badge} state=${state} /> ${paused_until !== undefined && html`until ${time(paused_until)}`} ${time(stopped_at)}
    ${
      failed_attempts !== undefined &&
      (failed_attempts > 0
        ? html`<div class="hint">${counted(failed_attempts, "call")} failed since it accepted an event, the last ${time(failed_at)}:</div>
            <div class="problem">${error_message}</div>`
        : html`<div class="hint">It gets events again. A call failed last ${time(failed_at)}: ${error_message}</div>`)
    }`;

/** An event with its deliveries. Those that have ended can be sent again. */
export function EventContent({ event, requestPath }: { event: RequestEvent; requestPath: string }) {
  const { id, type, data, deliveries } = event;
  const resend = (sink: number) => callHost("POST", `${requestPath}/events/${segment(id)}/resend`, { body: { sink } });
  return html`<code>${type}</code> <span class="hint">${[data.key_id, data.idp_id].filter(Boolean).join(", ")}</span>
    ${deliveries.map(
      ({ sink, state, delivered_at, attempts, next_attempt_at, error_message }) => html`<p key=${sink}>
        Sink ${sink} <${Badge} state=${state} /> ${delivered_at !== undefined && time(delivered_at)}
        ${attempts !== undefined && html` <span class="hint">${attempts} failed, next ${time(next_attempt_at)}</span>`}
        ${state !== "pending" && html` <${Button} label="Send again" kind="small" needs="connector.call" title=${`Sends ${type} to sink ${sink} again`} run=${() => resend(sink)} />`}
        ${error_message !== undefined && html` <span class="problem">${error_message}</span>`}
      </p>`,
    )}`;
}
