import type { Log } from "../log.ts";
import type { Sealer } from "../seal.ts";
import type { Instant, Now } from "../time.ts";
import type { Idp } from "./idp/contract.ts";
import type { Claim } from "./model/idempotency.ts";
import type { Intervals } from "./model/intervals.ts";
import type { KeyResponses } from "./model/key-responses.ts";
import type { ListKey, RequestList } from "./model/people-lists.ts";
import type { CredentialRequest, Due, Queue, SecurityKey } from "./model/request.ts";
import type { ShipmentRecord, ShipmentStatus } from "./model/shipment-status.ts";
import type { Delivery } from "./peers/delivery.ts";
import type { Rfpr } from "./peers/rfpr.ts";

/** A value as read, with the version that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly etag: string;
}

/** A request with all of its keys in the request's order: one storage read (decision C15). */
export interface LoadedRequest {
  readonly request: Stored<CredentialRequest>;
  readonly keys: readonly Stored<SecurityKey>[];
}

export interface Changes {
  readonly request?: CredentialRequest;
  readonly keys?: readonly SecurityKey[];
}

/** One row of the index of due work. */
export interface DueEntry extends Due {
  readonly requestId: string;
  readonly keyId?: string;
  readonly writtenAt: Instant;
}

export interface ListEntry extends ListKey {
  readonly writtenAt: Instant;
}

/** Lists of requests (decision C19). Rows are upserted before, and removed after, what the request's row says (decision C15). */
export interface RequestLists {
  enter(place: ListKey, lists: readonly RequestList[]): Promise<void>;
  /** Absent is fine. */
  leave(place: ListKey, lists: readonly RequestList[]): Promise<void>;
  /** In the order of creation, those after the position `after`. */
  entries(
    list: RequestList,
    range: { readonly after?: string | undefined; readonly top: number },
  ): Promise<readonly ListEntry[]>;
}

export interface RequestStore extends RequestLists {
  /** One transaction. Fails when the id exists. */
  insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest>;
  load(id: string): Promise<LoadedRequest | undefined>;
  /**
   * Writes the named rows whole, in one transaction, each by the version that was read.
   * Returns the request as it now stands; undefined when any row changed meanwhile: nothing was written then.
   */
  save(loaded: LoadedRequest, changes: Changes): Promise<LoadedRequest | undefined>;
  /** Deletes keys, then the request's row. */
  remove(loaded: LoadedRequest): Promise<void>;

  /** Upserts an index row; always before the row that it points to. */
  schedule(due: Due, requestId: string, keyId?: string): Promise<void>;
  /** Removes an index row; always after the row that it pointed to. Absent is fine. */
  unschedule(due: Due, requestId: string, keyId?: string): Promise<void>;
  /** Index rows of a queue in order of time, those due at or before `until`; all of them where it is absent. */
  due(queue: Queue, until?: Instant): AsyncIterable<DueEntry>;

  /** Inserts the record of a shipment id, `ongoing` where no status is given; false when it belongs to another request. Ours already counts as success. */
  linkShipment(shipmentId: string, requestId: string, status?: ShipmentStatus): Promise<boolean>;
  unlinkShipment(shipmentId: string, requestId: string): Promise<void>;
  requestOfShipment(shipmentId: string): Promise<string | undefined>;
  findShipment(shipmentId: string): Promise<Stored<ShipmentRecord> | undefined>;
  /** Writes the status into the record by its ETag. False where the record changed meanwhile or is gone. */
  saveShipment(shipmentId: string, stored: Stored<ShipmentRecord>, status: ShipmentStatus): Promise<boolean>;
}

/** The claims of Idempotency-Keys (decision C6). Undefined and false: another was faster, or an earlier try of the same call. */
export interface ClaimStore {
  insert(claim: Claim): Promise<Stored<Claim> | undefined>;
  find(scope: string): Promise<Stored<Claim> | undefined>;
  replace(found: Stored<Claim>, claim: Claim): Promise<Stored<Claim> | undefined>;
  /** Removes it: the key is free again. */
  release(held: Stored<Claim>): Promise<boolean>;
  /** Removes claims that ended at or before `until`, by an order of expiry. @returns how many */
  removeEnded(until: Instant, isOver: () => boolean): Promise<number>;
}

export interface ResponseStore {
  /** @returns the name to keep in the key's row */
  put(requestId: string, keyId: string, responses: KeyResponses): Promise<string>;
  get(name: string): Promise<KeyResponses | undefined>;
  remove(name: string): Promise<void>;
  /** All of a request, also those that no row names. */
  removeAll(requestId: string): Promise<void>;
}

export type MailStatus = "succeeded" | "running" | "failed" | "unknown";

/** The mail service (decision C14). Failures are `PeerFailure`. */
export interface Mailer {
  /** One POST at most. */
  send(mail: {
    readonly to: readonly string[];
    readonly subject: string;
    readonly text: string;
    readonly html: string;
    readonly operationId: string;
  }): Promise<void>;
  status(operationId: string): Promise<MailStatus>;
}

/** The configured identity providers. */
export interface Idps {
  readonly defaultId: string;
  get(id: string): Idp | undefined;
}

/** What the connector's verbs act through. */
export interface ConnectorDeps {
  readonly requests: RequestStore;
  readonly responses: ResponseStore;
  readonly claims: ClaimStore;
  readonly sealer: Sealer;
  readonly mailer: Mailer;
  readonly delivery: Delivery;
  /** Where the deployment has on-site enrollment (decision C12). */
  readonly rfpr?: Rfpr;
  readonly idps: Idps;
  /** Domains that PIN mails may go to, lower case; empty allows any (decision C14). */
  readonly pinMailDomains: readonly string[];
  readonly intervals: Intervals;
  /** How often one key's PIN may be resent within an hour (decision C1). */
  readonly resendsPerHour: number;
  /** Requests that a job works on at once. */
  readonly concurrency: number;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}
