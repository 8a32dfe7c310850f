import { readV2 } from "../../../../../../lib/connector/api/read-credential-request.ts";
import { readShipmentV1 } from "../../../../../../lib/connector/api/v1-shipment.ts";
import type { LoadedRequest } from "../../../../../../lib/connector/model/loaded-request.ts";
import { between, type Instant } from "../../../../../../lib/platform/time.ts";
import { isWork, rowsOf } from "./rows.ts";

/** What a request shows of itself, in the words of the table. */
export interface Shown {
  /** Of the request and its credentials, and of a PIN email that is not sent. */
  readonly state: string;
  readonly message: string;
  /** When a job looks at it again. */
  readonly again: string;
}

export function shown(loaded: LoadedRequest | undefined, now: Instant): Shown {
  if (loaded === undefined) return { state: "none", message: "", again: "never" };
  const rows = rowsOf(loaded);
  const dues = rows.flatMap(({ due }) => due ?? []).filter(isWork);
  const [next] = dues.toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const { states, messages } = loaded.request.origin === "v1_shipment" ? ofV1(loaded, now) : ofV2(loaded);
  return {
    state: distinct(states).join(", "),
    message: plain(distinct(messages.filter(message => message !== undefined)).join(" / "), loaded.request.id),
    again:
      next === undefined
        ? "never"
        : duration(between(now, next.at)) + (next.notBefore !== undefined ? ", not before" : ""),
  };
}

interface ReadState {
  readonly states: readonly string[];
  readonly messages: readonly (string | undefined)[];
}

function ofV2({ request, keys }: LoadedRequest): ReadState {
  const read = readV2(request, keys);
  const credentials = [...(read.shipment?.shipment_items ?? []), ...(read.authenticators ?? [])].flatMap(
    key => key.credentials,
  );
  const mails = keys.map(({ mail }) => mail.state).filter(state => state === "due" || state === "given_up");
  return {
    states: [read.state, ...credentials.map(({ state }) => state), ...mails.map(state => `mail ${state}`)],
    messages: [
      read.error_message,
      ...credentials.flatMap(({ error_message, revocation }) => [error_message, revocation?.error_message]),
    ],
  };
}

function ofV1({ request, keys }: LoadedRequest, now: Instant): ReadState {
  const shipmentId = request.delivery?.shipment?.id ?? "";
  const { shipment_state, error_message } = readShipmentV1(shipmentId, { request, keys }, now);
  return { states: [shipment_state], messages: [error_message] };
}

const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];

/** The same in every run. */
const plain = (message: string, requestId: string): string =>
  message
    .replaceAll(requestId, "<request>")
    .replace(/user-[0-9a-f-]{13}@example\.com/g, "<user>")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>");

function duration(ms: number): string {
  if (ms <= 0) return "at once";
  const [seconds, minutes, hours] = [ms / 1000, ms / 60_000, ms / 3_600_000];
  if (Number.isInteger(hours)) return `in ${hours} h`;
  return Number.isInteger(minutes) ? `in ${minutes} min` : `in ${seconds} s`;
}
