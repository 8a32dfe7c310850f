import type { Log } from "../log.ts";
import type { Mailer } from "../mail.ts";
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

/** A value as read, with the ETag that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly etag: string;
}

/** A request with all its security keys in the order of the request. Read by one query. */
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

/** The lists of requests. A list row is upserted before the change of the request's row and removed after it, so that none is missing (C15). */
export interface RequestLists {
  /** Adds a request to lists. */
  enter(listKey: ListKey, lists: readonly RequestList[]): Promise<void>;
  /** Removes a request from lists. Does nothing for a list that does not have it. */
  leave(listKey: ListKey, lists: readonly RequestList[]): Promise<void>;
  /** Returns at most `top` entries in the order of creation, after the position `after`. */
  entries(
    list: RequestList,
    range: { readonly after?: string | undefined; readonly top: number },
  ): Promise<readonly ListEntry[]>;
}

export interface RequestStore extends RequestLists {
  /** Inserts all rows in one transaction. Throws if the id exists. */
  insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest>;
  load(id: string): Promise<LoadedRequest | undefined>;
  /**
   * Replaces the given rows in one transaction, each by the ETag that was read.
   * Returns the current request; undefined on a conflict, and then nothing was written.
   */
  save(loaded: LoadedRequest, changes: Changes): Promise<LoadedRequest | undefined>;
  /** Deletes the rows of the security keys and of the request. */
  remove(loaded: LoadedRequest): Promise<void>;

  /** Upserts a `due` row. Called before the row that it points to is written. */
  schedule(due: Due, requestId: string, keyId?: string): Promise<void>;
  /** Removes a `due` row, if it exists. Called after the row that it pointed to is written. */
  unschedule(due: Due, requestId: string, keyId?: string): Promise<void>;
  /** Yields the `due` rows of a queue in order of time, up to `until` if it is given. */
  due(queue: Queue, until?: Instant): AsyncIterable<DueEntry>;

  /** Links a shipment id to a request by inserting its record. False if it is linked to another request. May be repeated. */
  linkShipment(shipmentId: string, requestId: string, status?: ShipmentStatus): Promise<boolean>;
  unlinkShipment(shipmentId: string, requestId: string): Promise<void>;
  requestOfShipment(shipmentId: string): Promise<string | undefined>;
  findShipment(shipmentId: string): Promise<Stored<ShipmentRecord> | undefined>;
  /** Writes the status to the record by its ETag. False if the record has changed or is gone. */
  saveShipment(shipmentId: string, stored: Stored<ShipmentRecord>, status: ShipmentStatus): Promise<boolean>;
}

/** The claims of Idempotency-Keys. `undefined` and `false` mean a conflict, also with an earlier attempt of the same call. */
export interface ClaimStore {
  insert(claim: Claim): Promise<Stored<Claim> | undefined>;
  find(scope: string): Promise<Stored<Claim> | undefined>;
  replace(found: Stored<Claim>, claim: Claim): Promise<Stored<Claim> | undefined>;
  /** Removes a claim, so that its Idempotency-Key may be used again. */
  release(claim: Stored<Claim>): Promise<boolean>;
  /** Removes claims that ended at or before `until`, by the index sorted by expiry. Returns their number. */
  removeEnded(until: Instant, isOver: () => boolean): Promise<number>;
}

export interface ResponseStore {
  /** Stores the responses of a security key. Returns the blob name, which its row keeps. */
  put(requestId: string, keyId: string, responses: KeyResponses): Promise<string>;
  get(name: string): Promise<KeyResponses | undefined>;
  remove(name: string): Promise<void>;
  /** Removes all responses of a request, including those that no row names. */
  removeAll(requestId: string): Promise<void>;
}

/** The configured identity providers. */
export interface Idps {
  readonly defaultId: string;
  get(id: string): Idp | undefined;
}

/** The ports and settings of the connector's operations. */
export interface ConnectorDeps {
  readonly requests: RequestStore;
  readonly responses: ResponseStore;
  readonly claims: ClaimStore;
  readonly sealer: Sealer;
  readonly mailer: Mailer;
  readonly delivery: Delivery;
  /** The pre-registration API. Absent if the deployment has no on-site enrollment. */
  readonly rfpr?: Rfpr;
  readonly idps: Idps;
  /** Domains to which PIN mails may be sent, in lower case. An empty list allows any domain. */
  readonly pinMailDomains: readonly string[];
  readonly intervals: Intervals;
  /** How often the PIN of a security key may be resent within an hour. */
  readonly resendsPerHour: number;
  /** The number of requests that a job works on at once. */
  readonly concurrency: number;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}
