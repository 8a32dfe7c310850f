import { callHost, readHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Badge, html, time } from "../ui.ts";

interface Delivery {
  readonly sink: number;
  readonly state: string;
  readonly delivered_at?: string;
  readonly attempts?: number;
  readonly next_attempt_at?: string;
  readonly error_message?: string;
}

/** An event of a credential request, with its deliveries to event sinks. */
export interface RequestEvent {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly deliveries: readonly Delivery[];
}

/** Returns the events of a request; none if the host has no event sink. */
export async function readEvents(requestPath: string, signal: AbortSignal): Promise<readonly RequestEvent[]> {
  const { status, body } = await readHost<{ data?: readonly RequestEvent[] }>(`${requestPath}/events`, signal);
  return status === 200 ? (body.data ?? []) : [];
}

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
