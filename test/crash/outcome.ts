import type { Due } from "../../lib/connector/model/request.ts";
import { idOfUser } from "../../local/peers/uuid-of.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { TestSystem } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { type Order, processCredentialRequests, processShipments } from "./orders.ts";

/** Longer than any lease and back-off of `startTestSystem`. */
export const stepMs = 65_000;

/** Work that does not wait for days. */
const queues: readonly Due["queue"][] = ["reconcile", "poll", "key", "replace"];

async function dueWork({ store }: TestSystem): Promise<number> {
  let rows = 0;
  for (const queue of queues) for await (const _ of store.due(queue)) rows++;
  return rows;
}

/** Has all hosts run the jobs at once, and lets time pass in between, until nothing is due. */
export const untilQuiet = (hosts: readonly HostProcess[], system: TestSystem): Promise<void> =>
  until(
    async () => {
      await Promise.all(hosts.map(processShipments));
      await Promise.all(hosts.map(processCredentialRequests));
      system.clock.advance(stepMs);
      return (await dueWork(system)) === 0;
    },
    () => `work stays due: ${hosts.map(host => host.errors()).join("\n")}`,
  );

/** How often the IdP was asked to register a credential of the order. */
export const activationCalls = (order: Order, { peers }: TestSystem): number =>
  peers.entra
    .requests()
    .filter(({ method, path }) => method === "POST" && order.users.some(user => path.includes(`/${idOfUser(user)}/`)))
    .length;

export const deliveryCalls = ({ peers }: TestSystem): number => peers.delivery.count("POST", /^\/v1\/fpr\/shipments$/);

export const mailCalls = ({ peers }: TestSystem): number => peers.mail.count("POST", /^\/emails:send$/);
