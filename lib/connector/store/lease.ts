import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { SecurityKey } from "../model/request.ts";
import { newLease, type Run } from "./queue.ts";
import { changeSecurityKey, saveRequest, securityKeyOf } from "./save-request.ts";

/** A key as this run read it, and from the first renewal on holds it by its lease. */
export interface KeyHold {
  readonly loaded: LoadedRequest;
  readonly keyId: string;
  readonly run: Run;
  /** Applied to what an outcome makes of the key: gives the hold back where nothing more is due now. */
  readonly finish: (key: SecurityKey) => SecurityKey;
}

/** A key that is held, and until when a call may be begun so that the hold outlasts it. */
export interface HeldKey extends KeyHold {
  readonly notAfter: Instant;
}

/** Whether mailing has been stopped for this run by the mail service's throttling (decision C14). */
export interface MailCircuitBreaker {
  stoppedUntil: Instant | undefined;
}

/**
 * Takes or renews the hold together with a change, right before an external call that changes something (decision C15).
 * Undefined when the key was changed by another meanwhile or the hold would not outlast the call: the call must not start then.
 * @param callLimit milliseconds that the call may take, retries included
 */
export async function renewLease(
  hold: KeyHold,
  change: (key: SecurityKey) => SecurityKey,
  callLimit: number,
  deps: ConnectorDeps,
): Promise<HeldKey | undefined> {
  const lease = newLease(hold.run, deps.now(), deps.intervals);
  const key = change(securityKeyOf(hold.loaded, hold.keyId));
  const loaded = await saveRequest(hold.loaded, { keys: [{ ...key, lease }] }, deps);
  const notAfter = plus(lease.until, -callLimit);
  return loaded === undefined || deps.now() > notAfter ? undefined : { ...hold, loaded, notAfter };
}

/** Writes an outcome of work on the key. Undefined when the hold is lost: another has taken the key over. */
export function conclude(
  { loaded, keyId, run, finish }: KeyHold,
  change: (key: SecurityKey) => SecurityKey,
  deps: Pick<ConnectorDeps, "requests" | "now">,
): Promise<LoadedRequest | undefined> {
  return changeSecurityKey(loaded, keyId, run.owner, key => finish(change(key)), deps);
}
