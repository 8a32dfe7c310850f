import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, Loaded } from "../deps.ts";
import type { Key } from "../model/request.ts";
import { leaseOf, type Run } from "./queue.ts";
import { changeKey, keyOf, write } from "./save-request.ts";

/** A key as this run read it, and from the first renewal on holds it by its lease. */
export interface KeyHold {
  readonly loaded: Loaded;
  readonly keyId: string;
  readonly run: Run;
  /** Applied to what an outcome makes of the key: gives the hold back where nothing more is due now. */
  readonly finish: (key: Key) => Key;
}

/** A key that is held, and until when a call may be begun so that the hold outlasts it. */
export interface HeldKey extends KeyHold {
  readonly notAfter: Instant;
}

/** Whether mailing has been stopped for this run by the mail service's throttling (decision C14). */
export interface MailBrake {
  stoppedUntil: Instant | undefined;
}

/**
 * Takes or renews the hold together with a change, right before an external call that changes something (decision C15).
 * Undefined when the key was changed by another meanwhile or the hold would not outlast the call: the call must not start then.
 * @param callLimit milliseconds that the call may take, retries included
 */
export async function renew(
  hold: KeyHold,
  change: (key: Key) => Key,
  callLimit: number,
  deps: ConnectorDeps,
): Promise<HeldKey | undefined> {
  const lease = leaseOf(hold.run, deps.now(), deps.timing);
  const key = change(keyOf(hold.loaded, hold.keyId));
  const loaded = await write(hold.loaded, { keys: [{ ...key, lease }] }, deps);
  const notAfter = plus(lease.until, -callLimit);
  return loaded === undefined || deps.now() > notAfter ? undefined : { ...hold, loaded, notAfter };
}

/** Writes an outcome of work on the key. Undefined when the hold is lost: another has taken the key over. */
export function conclude(
  { loaded, keyId, run, finish }: KeyHold,
  change: (key: Key) => Key,
  deps: Pick<ConnectorDeps, "requests" | "now">,
): Promise<Loaded | undefined> {
  return changeKey(loaded, keyId, run.owner, key => finish(change(key)), deps);
}
