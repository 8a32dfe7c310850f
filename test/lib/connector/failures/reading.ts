import { between } from "../../../../lib/time.ts";
import type { TestConnector } from "../../../support/connector.ts";

/** What a request shows of itself, in the words of the table. */
export interface Shown {
  /** Of the request, its credentials and, where it is not to be expected from these, its PIN mail. */
  readonly state: string;
  readonly message: string;
  /** When a job looks at it again. */
  readonly again: string;
}

const atRest = ["clean", "forget"];

export async function shown(connector: TestConnector, requestId: string): Promise<Shown> {
  const loaded = await connector.context.requests.load(requestId);
  if (loaded === undefined) return { state: "none", message: "", again: "never" };
  const read = await connector.read(requestId);
  const credentials = [...(read.shipment?.shipment_items ?? []), ...(read.authenticators ?? [])].flatMap(
    key => key.credentials,
  );
  const mails = loaded.keys
    .map(({ value }) => value.mail.state)
    .filter(state => state === "due" || state === "given_up");
  const states = [read.state, ...credentials.map(({ state }) => state), ...mails.map(state => `mail ${state}`)];
  const messages = [read.error_message, ...credentials.map(credential => credential.error_message)];
  const dues = [loaded.request, ...loaded.keys].flatMap(({ value }) => value.due ?? []);
  const next = dues.filter(({ queue }) => !atRest.includes(queue)).toSorted((a, b) => (a.at < b.at ? -1 : 1))[0];
  return {
    state: distinct(states).join(", "),
    message: plain(distinct(messages.filter(message => message !== undefined)).join(" / "), requestId),
    again:
      next === undefined ? "never" : duration(between(connector.now(), next.at)) + (next.held ? ", not before" : ""),
  };
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
