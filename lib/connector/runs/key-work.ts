import type { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import { releaseLease } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { rolledUp } from "../model/roll-up.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { saveChanges } from "./change-request.ts";
import {
  type CallKind,
  callAndRecord,
  isPastDeadline,
  type NotCalled,
  newLease,
  notCalled,
  type Run,
  takeTurn,
} from "./run.ts";

/** A change of a security key. After a conflict it is applied again, to key and request as read again. */
export type KeyChange = (key: SecurityKey, request: CredentialRequest) => SecurityKey;

/** A call that may change something at its peer. */
interface KeyCall {
  /** The name of the peer, by which its calls are limited. */
  readonly peer: string;
  /** Milliseconds that the call may take, retries included. The lease outlasts the call. */
  readonly timeLimitMs: number;
  /** The change that records the call before it is made, in the same write as the renewed lease. */
  readonly intent?: (key: SecurityKey) => SecurityKey;
  readonly kind?: CallKind;
}

export type KeyWork = ReturnType<typeof keyWork>;

/**
 * Returns the work of a run on one security key, which consists of operations such as an activation. An operation makes
 * its calls by `read` and `call`, and returns the change that they result in, for `finish` to save. If a call was not
 * made, it returns none.
 */
export function keyWork(start: LoadedRequest, keyId: string, run: Run) {
  let loaded = start;
  let hasLostLease = false;
  let isDeferred = false;
  /** Whether the operation has begun a call that may change something. It is finished then, also after the deadline. */
  let hasBegunCall = false;

  const inTurn = <T>(peer: string, work: () => Promise<T>) =>
    takeTurn(peer, run, work, () => hasBegunCall || !isPastDeadline(run));

  return {
    run,

    /** The request as this run has last read or written it. */
    get loaded() {
      return loaded;
    },
    get key() {
      return securityKeyOf(loaded, keyId);
    },
    /** Whether another writer has changed the key meanwhile, or a call could outlast the lease: no more is done then. */
    get hasLostLease() {
      return hasLostLease;
    },
    /** Whether an operation was deferred to a later run: its time was over, or it must not call a peer. */
    get isDeferred() {
      return isDeferred;
    },
    /** Whether the run may begin another operation on the key: it still has the key, and its time is not over. */
    get canBegin() {
      return !hasLostLease && !isPastDeadline(run);
    },

    /** Makes a call in its turn that changes nothing at its peer. It needs no lease. */
    read: <T>(peer: string, call: () => Promise<T>): Promise<T | PeerFailure | NotCalled> =>
      inTurn(peer, () => callAndRecord(peer, run, call, "read")),

    /**
     * Makes a call in its turn that may change something at its peer. Before it, writes the intent and a renewed lease,
     * so that after a crash the next run knows that the call may have been made (C15). The lease is renewed only when
     * the turn has come, because a wait would use it up. The call is not made if the key was changed meanwhile, or if
     * it could outlast the lease.
     * @param make gets the time after which the call must not start
     */
    call: <T>(
      { peer, timeLimitMs, intent = key => key, kind }: KeyCall,
      make: (notAfter: Instant) => Promise<T>,
    ): Promise<T | PeerFailure | NotCalled> =>
      inTurn(peer, async () => {
        const lease = newLease(run);
        const saved = await run.requests.save(loaded, { keys: [{ ...intent(securityKeyOf(loaded, keyId)), lease }] });
        const notAfter = plus(lease.until, -timeLimitMs);
        if (saved === undefined || run.now() > notAfter) {
          hasLostLease = true;
          return notCalled;
        }
        loaded = saved;
        hasBegunCall = true;
        return callAndRecord(peer, run, () => make(notAfter), kind);
      }),

    /**
     * Ends an operation: saves its change together with the roll-up of the request, or defers it. After a conflict,
     * applies the change again while the run has the lease.
     * @param change undefined if a call of the operation was not made. Nothing is saved then: the next run repeats it
     * @param isMoreDue whether the run works on the key after it, and keeps the lease
     * @returns whether the change was saved
     */
    async finish(
      change: KeyChange | undefined,
      isMoreDue: (key: SecurityKey) => boolean = () => false,
    ): Promise<boolean> {
      hasBegunCall = false;
      if (hasLostLease) return false;
      if (change === undefined) {
        isDeferred = true;
        return false;
      }
      const before = loaded;
      const saved = await saveChanges(
        before,
        current => {
          const key = securityKeyOf(current, keyId);
          if (current !== before && key.lease?.owner !== run.owner) return undefined;
          const changed = change(key, current.request);
          const after = isMoreDue(changed) ? changed : releaseLease(changed, run);
          if (after.state === key.state) return { keys: [after] };
          const keys = current.keys.map(each => (each.id === keyId ? after : each));
          return { request: rolledUp(current.request, keys, run.now()), keys: [after] };
        },
        run,
      );
      if (saved === undefined) hasLostLease = true;
      else loaded = saved;
      return saved !== undefined;
    },
  };
}
