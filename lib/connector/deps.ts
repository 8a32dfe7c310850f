import type { Sealer } from "../platform/crypto.ts";
import type { Log } from "../platform/log.ts";
import type { Mailer } from "../platform/mail.ts";
import type { Now } from "../platform/time.ts";
import type { ResponseStore } from "./collect/responses.blob.ts";
import type { claimStore } from "./create/claims.table.ts";
import type { Idps } from "./idp/contract.ts";
import type { Intervals } from "./model/intervals.ts";
import type { LossAction } from "./model/shipment.ts";
import type { DeliveryService } from "./peers/delivery.ts";
import type { PeerLimits } from "./peers/peer-limits.ts";
import type { Rfpr } from "./peers/rfpr.ts";
import type { pinMailLanguages } from "./settings.ts";
import type { RequestEvents } from "./storage/request-rows.table.ts";
import type { RequestStore } from "./storage/requests.table.ts";

/** What the operations of the connector depend on. */
export interface ConnectorDeps {
  readonly requests: RequestStore;
  readonly responses: ResponseStore;
  readonly claims: ReturnType<typeof claimStore>;
  /** Absent in a connector without `events/`. */
  readonly events?: RequestEvents;
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
  /** Domains to which PIN emails may be sent, in lower case. An empty list allows any domain. */
  readonly pinMailDomains: readonly string[];
  /** The shortest PIN that a request may ask for. */
  readonly pinMinLength: number;
  /** Who sends PIN emails and in which language, from the settings. Empty texts are left out of the email. */
  readonly pinMailSender: {
    readonly language: (typeof pinMailLanguages)[number];
    readonly organization: string;
    readonly supportContact: string;
    readonly signInUrl: string;
  };
  /** What is done about the credentials of a shipment that is lost. */
  readonly onLoss: LossAction;
  readonly intervals: Intervals;
  /** Maximum number of parallel calls for one credential request, and of parallel reads for a page of a list. */
  readonly concurrency: number;
  /** The limits of the calls of jobs to each peer. */
  readonly peerLimits: PeerLimits;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}
