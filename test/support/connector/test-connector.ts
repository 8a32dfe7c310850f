import { randomUUID } from "node:crypto";
import { afterAll, beforeEach } from "vitest";
import type { ConnectorContext } from "../../../functions/connector/context.ts";
import { refuse } from "../../../functions/connector/errors.ts";
import { openConnectorContext } from "../../../functions/connector/start/open-context.ts";
import { type Deployment, deploymentLimits, openDeployment } from "../../../functions/deployment.ts";
import { createBodyV2 } from "../../../lib/connector/api/body-to-draft.ts";
import { readV2 } from "../../../lib/connector/api/read-credential-request.ts";
import { createRequest } from "../../../lib/connector/create/create-request.ts";
import type { CreatedIds } from "../../../lib/connector/create/draft.ts";
import type { Idp, Idps } from "../../../lib/connector/idp/contract.ts";
import { cleanUp } from "../../../lib/connector/jobs/clean-up.ts";
import { processCredentialRequests } from "../../../lib/connector/jobs/process-credential-requests.ts";
import { processShipments } from "../../../lib/connector/jobs/process-shipments.ts";
import type { LoadedRequest } from "../../../lib/connector/model/loaded-request.ts";
import type { CredentialRequest, Due } from "../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../lib/connector/model/security-key.ts";
import type { Challenge } from "../../../lib/connector/model/webauthn.ts";
import type { Run } from "../../../lib/connector/runs/run.ts";
import type { DueEntry } from "../../../lib/connector/storage/due-index.table.ts";
import { openTables, type Tables } from "../../../lib/platform/azure/tables.ts";
import type { Fetch } from "../../../lib/platform/call-peer.ts";
import type { Caller } from "../../../lib/platform/caller.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import type { Reply } from "../../../lib/platform/http/call.ts";
import { createLog } from "../../../lib/platform/log.ts";
import { type Instant, instant, plus } from "../../../lib/platform/time.ts";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { closePeers, type Peers, peerSettings, startPeers } from "../../../local/peers/all.ts";
import { createConnectorStores } from "../../../local/start/system.ts";
import type { Limits } from "../host/limits.ts";
import { type CallCounter, type CallCounts, countedBlobs, createCallCounter } from "../storage/call-counter.ts";
import { type FreshStorage, freshStorage, patientLimits } from "../storage/fresh-storage.ts";
import { resetPeers } from "./reset-peers.ts";

/** Who creates the requests of tests. */
export const caller: Caller = { kind: "api_token", application: "tests" };

/** A connector without a host: its verbs over real storage and real peers, with a clock that only the test moves. */
export interface TestConnector {
  readonly context: ConnectorContext;
  /** What maintenance works on. */
  readonly deployment: Deployment;
  readonly storage: FreshStorage;
  now(): Instant;
  advance(ms: number): void;
  /** Log lines so far, as written. */
  readonly lines: readonly string[];
  /** Events of that name in the log, parsed. */
  events(name: string): readonly Readonly<Record<string, unknown>>[];
  /** Storage requests that `work` makes. */
  counted<T>(work: () => Promise<T>): Promise<CallCounts & { readonly result: T }>;
  /** Creates a request from a version 2 body, as the endpoint does. */
  order(body?: unknown): Promise<CreatedIds>;
  runShipments(mode?: Run["mode"]): ReturnType<typeof processShipments>;
  runCredentials(mode?: Run["mode"]): ReturnType<typeof processCredentialRequests>;
  /** Runs both jobs, one after the other. */
  runJobs(): Promise<void>;
  /** Creates a request, and polls its shipment. */
  orderAndPoll(body?: unknown): Promise<CreatedIds>;
  /** Creates a request, and runs both jobs. */
  orderAndRun(body?: unknown): Promise<CreatedIds>;
  runCleanUp(completedDays: number): ReturnType<typeof cleanUp>;
  /** The version 2 read model. Throws where there is no such request. */
  read(requestId: string): Promise<ReturnType<typeof readV2>>;
  load(requestId: string): Promise<LoadedRequest>;
  requestRow(requestId: string): Promise<CredentialRequest>;
  keyRow(requestId: string, keyId?: string): Promise<SecurityKey>;
  /** Everything in a queue of the index. */
  queue(queue: Due["queue"]): Promise<readonly DueEntry[]>;
  /** A further connector on the same storage, peers and clock. */
  anotherInstance(options?: ConnectorOptions): TestConnector;
}

export interface ConnectorOptions {
  /** One that has its stores; a fresh one where missing. */
  readonly storage?: FreshStorage;
  readonly settings?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  /** For every call of a peer but those of storage, vault and mail, which their SDKs make. */
  readonly fetch?: Fetch;
  /** Tables of the test's own around the real ones. */
  readonly tables?: (tables: Tables) => Tables;
  /** Ports of the test's own around the real ones. */
  readonly ports?: (context: ConnectorContext, clock: Clock) => Partial<ConnectorContext>;
}

export interface Clock {
  now(): Instant;
  advance(ms: number): void;
}

/** Peers for one test file: started now, honest and with nothing counted before each test, closed after the last one. */
export async function peersOfFile(): Promise<Peers> {
  const peers = await startPeers();
  beforeEach(() => {
    resetPeers(peers);
    peers.delivery.settings({ shipAfterMs: 0, search: true });
  });
  afterAll(() => closePeers(peers));
  return peers;
}

/** The settings of a deployment on this storage and these peers. Its register keeps nothing, so that the clean-up deletes requests. */
export const environmentOf = (
  peers: Peers,
  { connectionString, tableUrl, blobUrl }: FreshStorage,
): Record<string, string> => ({
  SERVICE_APIS: "connector",
  ...peerSettings(peers),
  CLOUD_TABLES_ENDPOINT: tableUrl,
  CLOUD_STORAGE_BLOB_ENDPOINT: blobUrl,
  CLOUD_STORAGE_CONNECTION_STRING: connectionString,
  REGISTER_KEEP_DAYS: "0",
});

/** A connector with a clock of its own. */
export async function testConnector(peers: Peers, options: ConnectorOptions = {}): Promise<TestConnector> {
  const storage = options.storage ?? freshStorage();
  if (options.storage === undefined) await createConnectorStores(storage.connectionString);
  let time = instant(Date.now());
  const clock: Clock = {
    now: () => time,
    advance: ms => {
      time = plus(time, ms);
    },
  };
  return connect(peers, storage, clock, options);
}

function connect(peers: Peers, storage: FreshStorage, clock: Clock, options: ConnectorOptions): TestConnector {
  const lines: string[] = [];
  const counter = createCallCounter();
  const environment = { ...environmentOf(peers, storage), ...options.settings };
  const { own, deployment } = openContext(environment, {
    storage,
    clock,
    counter,
    lines,
    fetch: options.fetch ?? fetch,
    tables: options.tables ?? (tables => tables),
    limits: { ...patientLimits, ...options.limits },
  });
  const context = { ...own, ...options.ports?.(own, clock) };
  const load = async (requestId: string) => {
    const loaded = await own.requests.load(requestId);
    if (loaded === undefined) throw new Error(`there is no credential request ${requestId}`);
    return loaded;
  };
  const order = async (body: unknown = orderBody()) => createRequest(createBodyV2.parse(body), { caller }, context);
  const runShipments = (mode: Run["mode"] = "on_demand") => processShipments(mode, context);
  const runCredentials = (mode: Run["mode"] = "on_demand") => processCredentialRequests(mode, context);
  const runJobs = async () => {
    await runShipments();
    await runCredentials();
  };
  return {
    context,
    deployment,
    storage,
    ...clock,
    lines,
    events: name => lines.map(line => JSON.parse(line)).filter(({ event }) => event === name),
    counted: counter.during,
    order,
    runShipments,
    runCredentials,
    runJobs,
    orderAndPoll: async body => {
      const ids = await order(body);
      await runShipments();
      return ids;
    },
    orderAndRun: async body => {
      const ids = await order(body);
      await runJobs();
      return ids;
    },
    runCleanUp: completedDays => cleanUp(completedDays, context),
    read: async requestId => {
      const { request, keys } = await load(requestId);
      return readV2(request, keys);
    },
    load,
    requestRow: async requestId => (await load(requestId)).request,
    keyRow: async (requestId, keyId = "s-01-001") => {
      const key = (await load(requestId)).keys.find(key => key.id === keyId);
      if (key === undefined) throw new Error(`there is no key ${keyId}`);
      return key;
    },
    queue: queue => Array.fromAsync(own.requests.due(queue)),
    anotherInstance: (more = {}) =>
      connect(peers, storage, clock, {
        ...options,
        ...more,
        settings: { ...options.settings, ...more.settings },
        limits: { ...options.limits, ...more.limits },
      }),
  };
}

interface Surroundings {
  readonly storage: FreshStorage;
  readonly clock: Clock;
  readonly counter: CallCounter;
  readonly lines: string[];
  readonly fetch: Fetch;
  readonly tables: (tables: Tables) => Tables;
  readonly limits: Limits;
}

/** The composition root's own wiring, with the test's clock, log and counted storage. */
function openContext(
  environment: Record<string, string>,
  { storage, clock, counter, lines, fetch, tables, limits }: Surroundings,
): { own: ConnectorContext; deployment: Deployment } {
  const settings = readAllSettings(environment);
  if (settings.connector === undefined) throw new Error("the connector is not served");
  const { connectionString } = storage;
  const { storageCallMs: timeoutMs } = { ...deploymentLimits, ...limits };
  const opened = openDeployment(settings.deployment, { limits });
  const deployment: Deployment = {
    ...opened,
    fetch,
    now: clock.now,
    sleep: async (_, signal) => signal?.throwIfAborted(),
    log: createLog((_, line) => lines.push(line)),
    tables: tables(openTables({ connectionString, timeoutMs, policies: [counter.policy] })),
    blobs: countedBlobs(opened.blobs, counter),
  };
  const own = openConnectorContext(deployment, settings.connector);
  return { own, deployment };
}

/** Returns the Fault that the work throws. Throws if the work succeeds. */
export async function refusalOf(work: Promise<unknown>): Promise<Reply> {
  const fault = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (fault instanceof Fault) return refuse(fault);
  throw new Error("the work was not refused", { cause: fault });
}

/** Changes every configured IdP alike, for tests that need more than the settings of a simulated peer. */
export const idpsOf = ({ idps }: ConnectorContext, change: (idp: Idp) => Partial<Idp>): Idps => ({
  ...idps,
  get: id => {
    const idp = idps.get(id);
    return idp && { ...idp, ...change(idp) };
  },
});

type IdpState = Challenge["idpState"];

/** IdPs that only record what is compensated. */
export const recordCompensated = (compensated: IdpState[]) => (context: ConnectorContext) => ({
  idps: idpsOf(context, () => ({ compensate: async state => void compensated.push(state) })),
});

/**
 * IdPs whose challenges a test sees before the create does, and may change.
 * @param compensated records what is compensated, in place of the IdPs
 */
export const onChallenge =
  (see: (challenge: Challenge, clock: Clock) => Partial<Challenge> | undefined, compensated?: IdpState[]) =>
  (context: ConnectorContext, clock: Clock) => ({
    idps: idpsOf(
      compensated === undefined ? context : { ...context, ...recordCompensated(compensated)(context) },
      idp => ({
        creationOptions: async (...asked) => {
          const challenge = await idp.creationOptions(...asked);
          return { ...challenge, ...see(challenge, clock) };
        },
      }),
    ),
  });

/** Settings by which Microsoft Graph is at another address, which may get the connector's token. */
export const graphAt = (peers: Peers, address: string): Record<string, string> => ({
  IDPA_GRAPH_ENDPOINT: address,
  IDP_SECRET_HOSTS: [peerSettings(peers).IDP_SECRET_HOSTS, new URL(address).host].join(","),
});

/** A user whom no other test knows. */
export const newUser = (): string => `user-${randomUUID().slice(0, 13)}@example.com`;

/** Removes the PINs of shipped keys from a create body: it takes half as many encrypted messages, and no PIN email is sent. */
export function withoutPins<B extends ReturnType<typeof orderBody>>(body: B) {
  const shipment_items = body.shipment.shipment_items.map(({ pin_request: _, ...item }) => item);
  return { ...body, shipment: { ...body.shipment, shipment_items } };
}

/**
 * A version 2 create body of shipped keys with a PIN each, one for each element, which says how many credentials it gets; all
 * for new users and all mails to `to`.
 */
export function orderBody(credentials: readonly number[] = [1], to = newUser()) {
  return {
    recipient: { email: to, first_name: "Ada", last_name: "Lovelace", telephone: "+15550100" },
    enrollment_contacts: { emails_to: [to] },
    shipment: {
      mailing_address: {
        street_line1: "12 Analytical Way",
        city: "Dedham",
        region: "MA",
        postal_code: "02026",
        country_code: "US",
      },
      shipment_items: credentials.map((count, item) => ({
        name: `Key ${item + 1}`,
        product_id: "1",
        inventory_product_id: "15",
        pin_request: { length: 6 },
        credentials: Array.from({ length: count }, () => ({ user_id: newUser() })),
      })),
    },
  };
}
