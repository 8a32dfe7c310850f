import { TableClient } from "@azure/data-tables";
import type { LoadedRequest } from "../../../../lib/connector/deps.ts";
import { eventId, eventsIn } from "../../../../lib/connector/events/event.ts";
import { enrollmentId } from "../../../../lib/connector/model/key-ids.ts";
import type { SecurityKey } from "../../../../lib/connector/model/request.ts";
import { isTerminal } from "../../../../lib/connector/model/states.ts";
import type { Peers } from "../../../../local/peers/all.ts";
import type { TestConnector } from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import { isAnswered, type Order } from "./orders.ts";

interface Played {
  readonly orders: readonly Order[];
  readonly peers: Peers;
  readonly connector: TestConnector;
  /** All connectors of the run, for their logs. */
  readonly hosts: readonly TestConnector[];
}

/** Returns a sentence for everything that must not be when all is repaired, and time has passed. */
export async function wrongOutcomes(played: Played): Promise<readonly string[]> {
  const ids = await requestIds(played.connector);
  const requests = await Promise.all(
    ids.map(async id => [id, await played.connector.context.requests.load(id)] as const),
  );
  const loaded = requests.flatMap(([, request]) => request ?? []);
  return [
    ...requests.flatMap(([id, request]) => (request === undefined ? [`${id} is half there`] : [])),
    ...(await Promise.all(loaded.map(request => wrongRequest(request, played)))).flat(),
    ...wrongRegistrations(loaded, played),
    ...wrongOrders(new Set(ids), played.orders),
    ...(await lostShipments(new Set(ids), played)),
    ...(await traces(played)),
    ...played.peers.rfpr
      .authenticatorRequests()
      .flatMap(({ id, state }) => (state === "waiting" ? [`${id} can still be enrolled`] : [])),
    ...played.hosts.flatMap(unexpectedErrors),
  ];
}

/** From the rows themselves, so that half a request is found, too. */
async function requestIds({ storage }: TestConnector): Promise<readonly string[]> {
  const options = { allowInsecureConnection: true };
  const table = TableClient.fromConnectionString(storage.connectionString, "credentialrequests", options);
  const ids = new Set<string>();
  for await (const { partitionKey = "" } of table.listEntities()) ids.add(partitionKey);
  return [...ids];
}

async function wrongRequest({ request, keys }: LoadedRequest, played: Played): Promise<readonly string[]> {
  const { id, state, delivery, lease } = request.value;
  const shipments = (await played.peers.delivery.shipments()).filter(
    ({ customerReference }) => customerReference === id,
  );
  const wrong: string[] = [];
  if (!isTerminal(state)) wrong.push(`${id} is ${state}`);
  if (lease !== undefined) wrong.push(`${id} has a lease`);
  if (shipments.length > 1) wrong.push(`${id} was shipped ${shipments.length} times`);
  for (const shipment of shipments)
    if (shipment.id !== delivery?.shipmentId) wrong.push(`${id} does not know its shipment ${shipment.id}`);
  for (const { value: key } of keys) wrong.push(...(await wrongKey(id, key, played)));
  wrong.push(...(await wrongEvents(id, played)));
  return wrong;
}

async function wrongKey(id: string, key: SecurityKey, { peers, orders }: Played): Promise<readonly string[]> {
  const name = `${id} ${key.id}`;
  const wrong = key.lease === undefined ? [] : [`${name} has a lease`];
  const isActive = key.credentials.some(({ state }) => state === "active");
  const mails = peers.mail.mails().filter(({ text = "" }) => text.includes(`Serial number: ${key.serial}`));
  if (isActive && key.mail.state !== "none" && key.mail.state !== "sent")
    wrong.push(`the PIN mail of ${name} is ${key.mail.state}`);
  if (isActive && key.mail.state === "sent" && mails.length === 0) wrong.push(`the PIN of ${name} was not mailed`);
  const { resends = 0 } = orders.find(({ requestId }) => requestId === id) ?? {};
  if (mails.length > 1 + resends) wrong.push(`the PIN of ${name} was mailed ${mails.length} times`);
  const shipped = (await peers.delivery.shipments()).flatMap(({ keys }) => keys);
  for (const { text = "" } of mails) {
    const pin = /^ {4}(\S+)\r?$/m.exec(text)?.[1] ?? "";
    const isRight =
      shipped.some(each => each.serial === key.serial && each.pin === pin) ||
      peers.rfpr.opens(enrollmentId(id, key.id), pin);
    if (!isRight) wrong.push(`a mail has a wrong PIN of ${name}`);
  }
  return wrong;
}

/** Every event has arrived, in order. */
async function wrongEvents(id: string, { peers, connector }: Played): Promise<readonly string[]> {
  const { recorded } = await connector.context.events.load(id);
  const expected = eventsIn(id, recorded).map(eventId);
  const arrived = peers.sink
    .events()
    .filter(({ body }) => (JSON.parse(body) as { subject?: string }).subject === id)
    .map(({ headers }) => headers["webhook-id"] ?? "");
  const first = [...new Set(arrived)];
  return first.join() === expected.join()
    ? []
    : [`the events of ${id} are ${expected.join()}, arrived ${first.join()}`];
}

/** Every active credential is registered once, and nothing else is. A user can have several requests, of which one succeeded. */
function wrongRegistrations(requests: readonly LoadedRequest[], { peers }: Played): readonly string[] {
  const registered = [peers.entra, peers.pingone, peers.aic].flatMap(idp => idp.registrations());
  const credentials = requests.flatMap(({ keys }) => keys.flatMap(({ value }) => value.credentials));
  return Object.entries(Object.groupBy(credentials, ({ userId }) => userId)).flatMap(([user, own = []]) => {
    const times = registered.filter(({ userId }) => userId === user).length;
    const active = own.filter(({ state }) => state === "active").length;
    // An IdP without a look-up of devices cannot say what became of a lost response (C8).
    const unknown = own.filter(({ errorMessage }) => errorMessage?.includes("may be registered, check")).length;
    return active <= times && times <= active + unknown
      ? []
      : [`${user} is registered ${times} times: ${JSON.stringify(own)}`];
  });
}

const wrongOrders = (ids: ReadonlySet<string>, orders: readonly Order[]): readonly string[] =>
  orders
    .filter(({ isErased }) => !isErased)
    .flatMap(order => {
      if (!isAnswered(order)) return [`${order.idempotencyKey} has no definite response`];
      if (order.requestId !== undefined && !ids.has(order.requestId)) return [`${order.requestId} is gone`];
      return [];
    });

async function lostShipments(ids: ReadonlySet<string>, { peers, orders }: Played): Promise<readonly string[]> {
  const erased = orders.flatMap(({ isErased, requestId }) => (isErased && requestId ? [requestId] : []));
  return (await peers.delivery.shipments()).flatMap(({ id, customerReference = "" }) =>
    ids.has(customerReference) || erased.includes(customerReference) ? [] : [`shipment ${id} is of no request`],
  );
}

/** What is left of erased people: nothing with their name, and of their requests only index rows, which name an id. */
async function traces({ connector, orders }: Played): Promise<readonly string[]> {
  const lines = await storedText(connector.storage);
  return orders
    .filter(({ isErased }) => isErased)
    .flatMap(({ email, requestId = email }) =>
      lines.filter(
        line =>
          line.includes(email) ||
          (line.includes(requestId) && !line.startsWith("due ") && !line.startsWith("idempotency ")),
      ),
    )
    .map(line => `left of an erased person: ${line.slice(0, 300)}`);
}

/** A job that fails by something else than a peer has met what must not be. */
const unexpectedErrors = (host: TestConnector): readonly string[] =>
  host
    .events("work_failed")
    .filter(({ error }) => (error as { name?: string }).name !== "PeerFailure")
    .map(event => JSON.stringify(event));
