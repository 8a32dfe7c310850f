import { TableClient } from "@azure/data-tables";
import { eventId } from "../../../../lib/connector/events/event.ts";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import { enrollmentId, type SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { isTerminal } from "../../../../lib/connector/model/states.ts";
import type { Peers } from "../../../../local/peers/all.ts";
import type { TestConnector } from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import { isAnswered, type Order } from "./orders.ts";

interface EndedRun {
  readonly orders: readonly Order[];
  readonly peers: Peers;
  readonly connector: TestConnector;
  /** All connectors of the run, for their logs. */
  readonly hosts: readonly TestConnector[];
}

/** Returns a sentence for each violation, after all peers are repaired and all due work is done. */
export async function wrongOutcomes(run: EndedRun): Promise<readonly string[]> {
  const ids = await requestIds(run.connector);
  const requests = await Promise.all(ids.map(async id => [id, await run.connector.context.requests.load(id)] as const));
  const loaded = requests.flatMap(([, request]) => request ?? []);
  return [
    ...requests.flatMap(([id, request]) => (request === undefined ? [`${id} has only some of its rows`] : [])),
    ...(await Promise.all(loaded.map(request => wrongRequest(request, run)))).flat(),
    ...wrongRegistrations(loaded, run),
    ...(await doubledShipments(loaded, run)),
    ...wrongOrders(new Set(ids), run.orders),
    ...(await lostShipments(new Set(ids), run)),
    ...(await personalDataLeft(run)),
    ...run.peers.rfpr
      .authenticatorRequests()
      .flatMap(({ id, state }) => (state === "waiting" ? [`${id} can still be enrolled`] : [])),
    ...run.hosts.flatMap(unexpectedErrors),
  ];
}

/** Reads the rows directly, so that a request of which only some rows exist is found. */
async function requestIds({ storage }: TestConnector): Promise<readonly string[]> {
  const options = { allowInsecureConnection: true };
  const table = TableClient.fromConnectionString(storage.connectionString, "credentialrequests", options);
  const ids = new Set<string>();
  for await (const { partitionKey = "" } of table.listEntities()) ids.add(partitionKey);
  return [...ids];
}

async function wrongRequest({ request, keys }: LoadedRequest, run: EndedRun): Promise<readonly string[]> {
  const { id, state, delivery, lease } = request;
  const shipments = (await run.peers.delivery.shipments()).filter(({ customerReference }) => customerReference === id);
  const wrong: string[] = [];
  if (!isTerminal(state)) wrong.push(`${id} is ${state}`);
  if (lease !== undefined) wrong.push(`${id} has a lease`);
  if (shipments.length > 1) wrong.push(`${id} was shipped ${shipments.length} times`);
  for (const shipment of shipments)
    if (shipment.id !== delivery?.shipment?.id) wrong.push(`${id} does not know its shipment ${shipment.id}`);
  for (const key of keys) wrong.push(...(await wrongKey(id, key, run)));
  wrong.push(...(await wrongEvents(id, run)));
  return wrong;
}

async function wrongKey(id: string, key: SecurityKey, { peers, orders }: EndedRun): Promise<readonly string[]> {
  const name = `${id} ${key.id}`;
  const wrong = key.lease === undefined ? [] : [`${name} has a lease`];
  const isActive = key.credentials.some(({ state }) => state === "active");
  const mails = peers.mail.mails().filter(({ text = "" }) => text.includes(`Serial number: ${key.serial}`));
  if (isActive && key.mail.state !== "none" && key.mail.state !== "sent")
    wrong.push(`the PIN email of ${name} is ${key.mail.state}`);
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
async function wrongEvents(id: string, { peers, connector }: EndedRun): Promise<readonly string[]> {
  const expected = (await connector.context.events.load(id)).events.map(eventId);
  const arrived = peers.sink
    .events()
    .filter(({ body }) => (JSON.parse(body) as { subject?: string }).subject === id)
    .map(({ headers }) => headers["webhook-id"] ?? "");
  const first = [...new Set(arrived)];
  return first.join() === expected.join()
    ? []
    : [`the events of ${id} are ${expected.join()}, arrived ${first.join()}`];
}

/** Every user of an order has at most one active credential, which is registered once until it is revoked, and no other registration. */
function wrongRegistrations(requests: readonly LoadedRequest[], { peers, orders }: EndedRun): readonly string[] {
  const registered = [peers.entra, peers.pingone, peers.aic].flatMap(idp => idp.registrations());
  const credentials = requests.flatMap(({ keys }) => keys.flatMap(key => key.credentials));
  const users = orders.filter(({ isErased }) => !isErased).flatMap(order => order.users);
  return users.flatMap(user => {
    const own = credentials.filter(({ userId }) => userId === user);
    const times = registered.filter(({ userId }) => userId === user).length;
    const active = own.filter(each => each.state === "active" && each.revocation?.state !== "revoked").length;
    // An IdP without a look-up of devices cannot tell whether a registration without a response succeeded (C8).
    const unknown = own.filter(({ mayBeRegistered }) => mayBeRegistered).length;
    const isRight = active <= 1 && active <= times && times <= active + unknown;
    return isRight ? [] : [`${user} is registered ${times} times: ${JSON.stringify(own)}`];
  });
}

/** All requests of one order have at most one shipment. */
async function doubledShipments(requests: readonly LoadedRequest[], { peers, orders }: EndedRun) {
  const shipments = await peers.delivery.shipments();
  return orders.flatMap(({ idempotencyKey, users }) => {
    const ids = requests
      .filter(({ keys }) => keys.some(key => key.credentials.some(({ userId }) => users.includes(userId))))
      .map(({ request }) => request.id);
    const own = shipments.filter(({ customerReference = "" }) => ids.includes(customerReference));
    return own.length > 1 ? [`${idempotencyKey} was shipped ${own.length} times`] : [];
  });
}

const wrongOrders = (ids: ReadonlySet<string>, orders: readonly Order[]): readonly string[] =>
  orders.flatMap(order => {
    const { idempotencyKey, requestId, otherRequestIds, isErased } = order;
    if (otherRequestIds.length > 0) return [`${idempotencyKey} has also the requests ${otherRequestIds.join()}`];
    if (isErased) return [];
    if (!isAnswered(order)) return [`${idempotencyKey} has no definite response`];
    return requestId === undefined || ids.has(requestId) ? [] : [`${requestId} is gone`];
  });

async function lostShipments(ids: ReadonlySet<string>, { peers, orders }: EndedRun): Promise<readonly string[]> {
  const erased = orders.flatMap(({ isErased, requestId }) => (isErased && requestId ? [requestId] : []));
  return (await peers.delivery.shipments()).flatMap(({ id, customerReference = "" }) =>
    ids.has(customerReference) || erased.includes(customerReference) ? [] : [`shipment ${id} belongs to no request`],
  );
}

/** Returns the rows that still name erased recipients. Index rows may keep a request id. */
async function personalDataLeft({ connector, orders }: EndedRun): Promise<readonly string[]> {
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

/** A job logs `work_failed` with a PeerFailure if a peer fails. Any other error is a bug. */
const unexpectedErrors = (host: TestConnector): readonly string[] =>
  host
    .events("work_failed")
    .filter(({ error }) => (error as { name?: string }).name !== "PeerFailure")
    .map(event => JSON.stringify(event));
