import type { HostProcess } from "../support/host/host-process.ts";
import type { TestSystem } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { stepMs } from "./outcome.ts";

/** Settings of a host that sends events to the simulated sink. */
export const sinkSettings = ({ peers }: TestSystem): Readonly<Record<string, string>> => ({
  EVENT_SINK_URLS: `${peers.sink.url}/events`,
});

/** Starts the timer that sends events. The run continues in the background. */
export async function startSending({ url, masterKey }: HostProcess): Promise<void> {
  const headers = { "x-functions-key": masterKey, "content-type": "application/json" };
  const { status } = await fetch(`${url}/admin/functions/sendEvents`, { method: "POST", headers, body: "{}" });
  if (status !== 202) throw new Error(`the start of sendEvents was answered ${status}`);
}

/** Sends events after the leases of hosts that are gone, until all of the request are delivered. */
export async function untilDelivered(host: HostProcess, { clock }: TestSystem, requestId: string): Promise<void> {
  clock.advance(stepMs);
  let listed = "";
  const condition = async () => {
    await startSending(host);
    const { body } = await host.call("GET", `/v2/credential-requests/${requestId}/events`);
    listed = JSON.stringify(body);
    const { data } = body as { data: readonly { deliveries: readonly { state: string }[] }[] };
    return data.every(({ deliveries }) => deliveries.every(({ state }) => state === "delivered"));
  };
  await until(condition, () => `not delivered: ${listed}\n${host.errors()}`);
}

interface Arrival {
  readonly id: string;
  readonly type: string;
}

/** The events of a request that the sink accepted, in their order, repeated ones too. */
export const arrivals = ({ peers }: TestSystem, requestId: string): readonly Arrival[] =>
  peers.sink.events().flatMap(({ body }) => {
    const { id, type, subject } = JSON.parse(body);
    return subject === requestId ? [{ id, type: type.replace("fido-connector.", "") }] : [];
  });

/** The types of the events in the order in which each arrived first. */
export const firstArrivals = (system: TestSystem, requestId: string): readonly string[] => {
  const all = arrivals(system, requestId);
  return all.filter(({ id }, index) => all.findIndex(each => each.id === id) === index).map(({ type }) => type);
};
