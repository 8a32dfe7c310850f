import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import type { LoadedRequest } from "../../lib/connector/model/loaded-request.ts";
import type { Due } from "../../lib/connector/model/request.ts";
import type { DueEntry } from "../../lib/connector/runs/due-index.table.ts";
import { openBlobs } from "../../lib/platform/azure/blobs.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { TestSystem } from "../support/host/system.ts";
import { storageTimeoutMs } from "../support/storage/fresh-storage.ts";
import { until } from "../support/until.ts";
import { type Order, processAll } from "./orders.ts";

const queues: readonly Due["queue"][] = ["reconcile", "poll", "key", "track", "replace", "purge", "clean"];
/** What waits for days to pass: the end of a delivery, of a request and of the copies of its responses. */
const atRest: readonly Due["queue"][] = ["track", "purge", "clean"];

/** Every row of the index. */
async function indexRows({ store }: TestSystem): Promise<readonly DueEntry[]> {
  const rows: DueEntry[] = [];
  for (const queue of queues) for await (const row of store.due(queue)) rows.push(row);
  return rows;
}

/** Longer than any lease and back-off of `quick`. */
export const stepMs = 65_000;

/** Index rows of work that does not wait for days. */
export const dueWork = async (system: TestSystem): Promise<readonly DueEntry[]> =>
  (await indexRows(system)).filter(({ queue }) => !atRest.includes(queue));

/** Runs the jobs, and lets time pass in between, until nothing of the requests is due but their clean-up. */
export async function untilQuiet(host: HostProcess, system: TestSystem, ...requestIds: string[]): Promise<void> {
  let left: readonly DueEntry[] = [];
  const condition = async () => {
    await processAll(host);
    left = (await dueWork(system)).filter(row => requestIds.includes(row.requestId));
    system.clock.advance(stepMs);
    return left.length === 0;
  };
  const describe = async () => {
    const stored = JSON.stringify(await system.store.load(left[0]?.requestId ?? ""), null, 1);
    return `still due: ${JSON.stringify(left)}\n${stored}\n${host.errors()}`;
  };
  await until(condition, describe);
}

export interface Outcome {
  readonly state: string;
  /** The state of every credential, as the API returns it. */
  readonly credentials: readonly string[];
  readonly errors: readonly string[];
  /** At the delivery service. */
  readonly shipments: number;
  /** At the IdP, by credential. */
  readonly registrations: readonly number[];
  /** Number of mails in the mailbox with the PIN of a security key, by key. */
  readonly mails: readonly number[];
  /** What a finished request must not have: leases, tries, due work, rows and blobs that do not fit each other. */
  readonly wrong: readonly string[];
}

/** All that became of an order, asked of the API, of every peer, of storage, and of the logs of those who worked on it. */
export async function outcome(
  order: Order,
  requestId: string,
  { hosts, system }: { hosts: readonly [HostProcess, ...HostProcess[]]; system: TestSystem },
): Promise<Outcome> {
  const { delivery, entra, pingone, aic, mail } = system.peers;
  const [host] = hosts;
  const { data } = (await host.call("GET", `/v2/credential-requests/${requestId}`)).body as ReadAnswer;
  const credentials = data.shipment.shipment_items.flatMap(item => item.credentials);
  const shipments = (await delivery.shipments()).filter(({ customerReference }) => customerReference === requestId);
  const mails = mail.mails().filter(({ to }) => to.includes(order.email));
  const mailsOf = ({ serial, pin = "no PIN" }: { serial: string; pin?: string }) =>
    mails.filter(({ text = "" }) => text.includes(serial) && text.includes(pin)).length;
  const perKey = shipments.flatMap(({ keys }) => keys).map(mailsOf);
  const delivered = perKey.reduce((sum, count) => sum + count, 0);
  const wrong = [...(await wrongRows(system, requestId)), ...hosts.flatMap(wrongInLog)];
  const registered = [entra, pingone, aic].flatMap(idp => idp.registrations());
  return {
    state: data.state,
    credentials: credentials.map(({ state }) => state),
    errors: [...new Set(credentials.flatMap(({ error_message }) => error_message ?? []))],
    shipments: shipments.length,
    registrations: order.users.map(user => registered.filter(({ userId }) => userId === user).length),
    mails: perKey,
    wrong: delivered === mails.length ? wrong : [...wrong, `${mails.length - delivered} mails have no PIN of a key`],
  };
}

interface ReadAnswer {
  readonly data: {
    readonly state: string;
    readonly shipment: {
      readonly shipment_items: readonly {
        readonly credentials: readonly { readonly state: string; readonly error_message?: string }[];
      }[];
    };
  };
}

/** How often the IdP was asked to register a credential of the order. */
export const activationCalls = (order: Order, { peers }: TestSystem): number =>
  peers.entra
    .requests()
    .filter(({ method, path }) => method === "POST" && order.users.some(user => path.includes(`/${user}/`))).length;

export const deliveryCalls = ({ peers }: TestSystem): number => peers.delivery.count("POST", /^\/v1\/fpr\/shipments$/);

export const mailCalls = ({ peers }: TestSystem): number => peers.mail.count("POST", /^\/emails:send$/);

/** A worker that fails by something else than a peer or storage has met what must not be. */
const wrongInLog = (host: HostProcess): readonly string[] =>
  host
    .errors()
    .split("\n")
    .filter(line => line.includes("work_failed"));

async function wrongRows(system: TestSystem, requestId: string): Promise<readonly string[]> {
  const loaded = await system.store.load(requestId);
  if (loaded === undefined) return ["the request is gone"];
  return [
    ...wrongInRows(loaded),
    ...wrongInIndex(
      loaded,
      (await indexRows(system)).filter(row => row.requestId === requestId),
    ),
    ...(await wrongShipmentRows(loaded, system)),
    ...(await wrongBlobs(loaded, system)),
  ];
}

function wrongInRows({ request, keys }: LoadedRequest): readonly string[] {
  const wrong = request.value.lease === undefined ? [] : ["the request has a lease"];
  for (const { value: key } of keys) {
    if (key.lease !== undefined) wrong.push(`key ${key.id} has a lease`);
    if (key.mail.triedAt !== undefined) wrong.push(`the mail of ${key.id} has an open try`);
    if (key.mail.state !== "sent" && key.mail.state !== "none")
      wrong.push(`the mail of ${key.id} is ${key.mail.state}`);
    for (const { triedAt, userId } of key.credentials)
      if (triedAt !== undefined) wrong.push(`${userId} has an open try`);
  }
  return wrong;
}

/** Every row that is due has its index row, and no index row but a stray one of clean-up points to nothing. */
function wrongInIndex({ request, keys }: LoadedRequest, index: readonly DueEntry[]): readonly string[] {
  const wrong = index
    .filter(({ queue }) => !atRest.includes(queue))
    .map(({ queue, at }) => `${queue} has a row of ${at}`);
  const dues = [
    { due: request.value.due, keyId: undefined },
    { due: request.value.trackDue, keyId: undefined },
    { due: request.value.replaceDue, keyId: undefined },
    ...keys.map(({ value }) => ({ due: value.due, keyId: value.id })),
  ];
  if (request.value.due?.queue !== "clean") wrong.push("the request is not due for clean-up");
  for (const { due, keyId } of dues) {
    const name = keyId ?? "the request";
    if (due === undefined) continue;
    if (!atRest.includes(due.queue)) wrong.push(`${name} is due for ${due.queue}`);
    if (!index.some(row => row.queue === due.queue && row.at === due.at && row.keyId === keyId))
      wrong.push(`${name} has no row in ${due.queue}`);
  }
  return wrong;
}

/** The unique row of a shipment id is there for the request's own shipment and for none that only has its reference. */
async function wrongShipmentRows({ request }: LoadedRequest, { store, peers }: TestSystem): Promise<readonly string[]> {
  const { id, delivery, shipment: { customerReference = id } = {} } = request.value;
  const wrong = [];
  for (const shipment of await peers.delivery.shipments()) {
    if (shipment.customerReference !== customerReference) continue;
    const owned = (await store.requestOfShipment(shipment.id)) === id;
    if (owned !== (shipment.id === delivery?.shipment?.id)) wrong.push(`shipment ${shipment.id} has a wrong row`);
  }
  return wrong;
}

async function wrongBlobs({ request, keys }: LoadedRequest, { storage }: TestSystem): Promise<readonly string[]> {
  const blobs = openBlobs({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
  const named = keys.flatMap(({ value }) => value.responses ?? []);
  const wrong = [];
  for await (const name of blobs.list(responsesContainer, `${request.value.id}/`))
    if (!named.includes(name)) wrong.push(`blob ${name} belongs to no key`);
  for (const name of named)
    if ((await blobs.get(responsesContainer, name)) === undefined) wrong.push(`blob ${name} is missing`);
  return wrong;
}

/** An order whose keys are shipped, activated and mailed, each once. */
export const fulfilled: Outcome = {
  state: "complete",
  credentials: ["active", "active", "active"],
  errors: [],
  shipments: 1,
  registrations: [1, 1, 1],
  mails: [1, 1],
  wrong: [],
};

export const neverSent = "The request was interrupted and never sent to the delivery service.";
export const neverConfirmed =
  "The delivery service never confirmed the shipment. Search there for the customer reference before you order again.";

/** An order that never became a shipment. */
export const failed = (reason: string): Outcome => ({
  state: "failed",
  credentials: ["failed", "failed", "failed"],
  errors: [reason],
  shipments: 0,
  registrations: [0, 0, 0],
  mails: [],
  wrong: [],
});

/** As `fulfilled`, for an order of one key with one credential. */
export const fulfilledKey: Outcome = { ...fulfilled, credentials: ["active"], registrations: [1], mails: [1] };

/** As `failed`, for an order of one key with one credential. */
export const failedKey = (reason: string): Outcome => ({
  ...failed(reason),
  credentials: ["failed"],
  registrations: [0],
});
