import type { Action, Row } from "../../platform/azure/tables.ts";
import type { Fields } from "../../platform/log.ts";
import type { Instant } from "../../platform/time.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";

/** The events of a change, and how they are written. */
interface EventWrites {
  /** The changed request, which counts its events. */
  readonly request: CredentialRequest;
  /** Writes the index rows by which senders find the events. They come first. */
  readonly addDue: () => Promise<void>;
  /** The writes in the transaction of the change. */
  readonly rows: readonly Action[];
}

/** An event that a sink has not got. */
interface UndeliveredEvent {
  readonly at: Instant;
  /** What a log has of it. */
  readonly fields: Fields;
}

/** What the store and the jobs call of the events. `events/` implements it; without it no events are recorded. */
export interface RequestEvents {
  /** Returns the events of a change; undefined if there are none. They are written in the transaction of the change. */
  record(before: RequestValues, after: RequestValues): EventWrites | undefined;
  /** Removes the events and index rows of a request as it was read. Makes no call without events. */
  removeAll(request: CredentialRequest): Promise<void>;
  /** Returns the events of a request that a configured sink has not received. */
  undelivered(request: CredentialRequest): Promise<readonly UndeliveredEvent[]>;
  /**
   * Reads the events in the rows of a request in a backup. Returns a function that writes them, and those of the change
   * that the restore makes to the request: events that are not done are due at once. It returns the changed request
   * with the number of its events.
   */
  readBackup(rows: readonly Row[]): (before: RequestValues, after: RequestValues) => Promise<CredentialRequest>;
}
