import type { Log } from "../platform/log.ts";
import type { Mailer } from "../platform/peers/mail.ts";
import type { Sealer } from "../platform/seal.ts";
import type { Instant, Now } from "../platform/time.ts";
import type { Delivery, RecordedEvents } from "./events/event.ts";
import type { EventSink } from "./events/event-sink.ts";
import type { Idp } from "./idp/contract.ts";
import type { Claim } from "./model/idempotency.ts";
import type { Intervals } from "./model/intervals.ts";
import type { KeyResponses } from "./model/key-responses.ts";
import type { PinMailSender } from "./model/pin-mail.ts";
import type { CredentialRequest, Due, Lease, Queue, RequestValues, SecurityKey } from "./model/request.ts";
import type { ListKey, RequestList } from "./model/request-lists.ts";
import type { ShipmentRecord } from "./model/shipment.ts";
import type { DeliveryService } from "./peers/delivery.ts";
import type { PeerLimits } from "./peers/peer-limits.ts";
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
  /**
   * Set by a run that has taken the row, so that other runs leave it out. Only saves them calls: what a run may do is
   * decided by the lease in the row that it points to.
   */
  readonly lease?: Lease;
}

/** A row of the index of due work as read. */
export interface DueRow extends DueEntry {
  readonly etag: string;
}

export interface ListEntry extends ListKey {
  readonly writtenAt: Instant;
}

/** An entry of a list of requests, with its list. */
export interface ListedEntry extends ListEntry {
  readonly list: RequestList;
}

interface SaveOptions {
  readonly isUrgent?: boolean;
  readonly throwsInDoubt?: boolean;
}

/**
 * The credential requests. The store keeps their index rows: the due work, the lists and the records of shipments. It
 * writes new ones before the rows of the request and removes former ones after, so that a crash leaves a row too many
 * and never one too few (C15, C19).
 */
export interface RequestStore {
  /**
   * Inserts all rows in one transaction. Returns the stored request if the id exists. Links its shipment, if no other
   * request has it.
   */
  insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest>;
  load(id: string): Promise<LoadedRequest | undefined>;
  /**
   * Replaces the given rows in one transaction, each by the ETag that was read. Links a new shipment id to the request.
   * Returns the current request; undefined on a conflict, also if the shipment is linked to another request. No row is
   * replaced then. If storage does not answer the write, reads the rows to find out whether it succeeded, and repeats it
   * once if it did not. A failure to remove the former index rows is only logged.
   * @param options with `isUrgent`, returns before the former index rows are removed; with `throwsInDoubt`, throws at once
   * if storage does not answer: the write may have succeeded then
   */
  save(loaded: LoadedRequest, changes: Changes, options?: SaveOptions): Promise<LoadedRequest | undefined>;
  /**
   * Deletes the rows of a request. The index rows by which the caller finds the request are removed last: its due work
   * and, in an erasure, its entry in a list.
   * @param foundBy set in an erasure: the list by which the request was found
   */
  remove(loaded: LoadedRequest, foundBy?: RequestList): Promise<void>;

  /** Yields the due work of a queue in order of time: up to `until` and from the row `from` on, if they are given. */
  due(queue: Queue, until?: Instant, from?: DueEntry): AsyncIterable<DueRow>;
  /**
   * Writes the lease to index rows of one queue, at most 100, in one transaction by the ETags that were read. Returns
   * false on a conflict: no row is changed then.
   */
  leaseDue(rows: readonly DueRow[], lease: Lease): Promise<boolean>;
  /** Removes the leases of index rows of one queue, except of rows that have changed since they were read. */
  releaseDue(rows: readonly DueRow[]): Promise<void>;
  /** Returns at most `top` entries in the order of creation, after the position `after`. */
  entries(
    list: RequestList,
    range: { readonly after?: string | undefined; readonly top: number },
  ): Promise<readonly ListEntry[]>;
  /**
   * Removes an index row that does not match its request, because its writer is between two writes or stopped there.
   * The request is rewritten by its ETag before, so that a writer that still runs gets a conflict. Does nothing if the
   * request has changed meanwhile.
   * @param loaded undefined if there is no such request
   */
  removeStale(row: DueEntry | ListedEntry, loaded: LoadedRequest | undefined): Promise<void>;

  findShipment(shipmentId: string): Promise<ShipmentRecord | undefined>;
  requestOfShipment(shipmentId: string): Promise<string | undefined>;
  /** Copies the current status of a request to the record of its shipment. */
  updateShipment(loaded: LoadedRequest): Promise<void>;
}

/**
 * The claims of Idempotency-Keys. `undefined` and `false` mean a conflict, also with an earlier attempt of the same
 * call.
 */
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
  /** Stores the responses of a security key, and keeps what was stored before. Returns the blob name, which its row keeps. */
  put(requestId: string, keyId: string, responses: KeyResponses): Promise<string>;
  get(name: string): Promise<KeyResponses | undefined>;
  /** Removes all responses of a security key, including those that its row does not name. */
  removeOf(requestId: string, keyId: string): Promise<void>;
  /** Removes all responses of a request, including those that no row names. */
  removeAll(requestId: string): Promise<void>;
}

/** One row of the index of due events of a sink. */
export interface DueEvents {
  readonly at: Instant;
  readonly requestId: string;
  /** The position of the first event that the row was written for. */
  readonly first: number;
  readonly writtenAt: Instant;
}

/** The recorded events of a request, and the state of their delivery to each sink. */
export interface LoadedEvents {
  readonly recorded: readonly RecordedEvents[];
  readonly deliveries: ReadonlyMap<number, Stored<Delivery>>;
}

/** The state of a sink, over all requests. */
export interface SinkState {
  /** The time before which the sink is not called, from its Retry-After. */
  readonly notBefore?: Instant;
  /** The sink answered 410. It is not called until it has another address or an administrator resumes it. */
  readonly stopped?: { readonly at: Instant; readonly address: string };
}

/**
 * The recorded events of requests. `RequestStore.save` records them in the transaction of the change that they report,
 * and writes an index row for each sink before it.
 */
export interface EventStore {
  /** Yields the due events of a sink in order of time up to `until`. */
  due(sink: number, until: Instant): AsyncIterable<DueEvents>;
  load(requestId: string): Promise<LoadedEvents>;
  /**
   * Writes the state of a delivery, and before it the index row of its next attempt. Returns undefined on a conflict.
   */
  saveDelivery(
    at: { readonly requestId: string; readonly sink: number; readonly before: Stored<Delivery> | undefined },
    delivery: Delivery,
  ): Promise<Stored<Delivery> | undefined>;
  /** Removes an index row whose events are done, or that another row replaces. */
  removeDue(sink: number, entry: DueEvents): Promise<void>;
  /**
   * Removes an index row whose events are not recorded, because its writer is between two writes or stopped there.
   * Rewrites the request by its ETag before, so that a writer that still runs gets a conflict.
   */
  removeStale(sink: number, entry: DueEvents): Promise<void>;
  sinkState(sink: number): Promise<SinkState>;
  /** Writes the state that `change` returns. On a conflict, reads the state again and repeats the change. */
  changeSinkState(sink: number, change: (before: SinkState) => SinkState): Promise<void>;
  /**
   * Writes the events of a request from a backup, and those of the change that the restore makes to it. Events that are
   * not done are due at once. Returns the changed request with the number of its events, to be inserted.
   */
  restore(before: RequestValues, after: RequestValues, events: RestoredEvents): Promise<CredentialRequest>;
}

/** The events of a request in a backup. */
export interface RestoredEvents {
  readonly recorded: readonly RecordedEvents[];
  readonly deliveries: ReadonlyMap<number, Delivery>;
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
  readonly events: EventStore;
  readonly sinks: readonly EventSink[];
  /**
   * Sends due events at the end of a job, for a short time: the timer sends the rest. Never rejects. Makes no call
   * without a sink.
   */
  readonly sendEventsAfterJob: () => Promise<void>;
  readonly sealer: Sealer;
  readonly mailer: Mailer;
  readonly delivery: DeliveryService;
  /** The pre-registration API. Absent if the deployment has no on-site enrollment. */
  readonly rfpr?: Rfpr;
  readonly idps: Idps;
  /** Domains to which PIN mails may be sent, in lower case. An empty list allows any domain. */
  readonly pinMailDomains: readonly string[];
  /** What PIN mails say about their sender, and their language. */
  readonly pinMailSender: PinMailSender;
  readonly intervals: Intervals;
  /** The number of calls that are made at once for one request. */
  readonly concurrency: number;
  /** The limits of the calls of jobs to each peer. */
  readonly peerLimits: PeerLimits;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}
