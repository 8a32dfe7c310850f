import { setTimeout as pause } from "node:timers/promises";
import { readRetryAfter } from "../../lib/platform/response-headers.ts";
import { instant, type Now, seconds } from "../../lib/platform/time.ts";
import { type ApiAnswer, WrongService } from "../api.ts";

/** The run cannot continue with any key. The message says why. */
export class ImportStopped extends Error {
  override readonly name = "ImportStopped";
}

/** What calls to an API depend on. */
export interface Calling {
  /** What is called, such as "a Core API", for messages. */
  readonly service: string;
  /** Address of the API, for messages. */
  readonly url: string;
  /** Fires when the run is to end: no further call is made. */
  readonly stop: AbortSignal;
  /** Fires when calls in progress are to end too. */
  readonly cut: AbortSignal;
  /** Called when all calls have to wait. */
  readonly waits: (seconds: number) => void;
}

/** What tests replace. */
interface CallTools {
  /** Rejects when the signal fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** The time of day, for a Retry-After that is a date. */
  readonly timeOfDay: Now;
}

const defaultTools: CallTools = {
  sleep: (ms, signal) => pause(ms, undefined, { signal }),
  random: Math.random,
  now: () => performance.now(),
  timeOfDay: () => instant(Date.now()),
};

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/**
 * Repeats a call until there is a response. Returns undefined if the run ended before. Throws `ImportStopped`.
 * @param isFinal whether a 500, or a 409 with `Retry-After`, would stay the same if the call were repeated soon; by
 * default none does
 */
export type Ask = (
  call: (signal: AbortSignal) => Promise<ApiAnswer>,
  isFinal?: (answer: Answered) => boolean,
) => Promise<Answered | undefined>;

const maxTries = 6;
const firstWaitMs = 500;
const maxWaitMs = 120_000;
/** A call whose host has stopped counts as running for 5 minutes (C6). */
const maxRunningMs = 360_000;

/**
 * Creates the function that calls an API. The calls are idempotent (A10, C6), so a call without a response is repeated.
 * A `Retry-After` delays all calls; that of a 409 delays only the call itself, because an earlier call with the same
 * idempotency key still runs. A 500 that persists is returned, because it may concern this call only.
 */
export function createAsk(
  { service, url, stop, cut, waits }: Calling,
  { sleep, random, now, timeOfDay }: CallTools = defaultTools,
): Ask {
  let notBefore = 0;

  const answered = async (call: Parameters<Ask>[0]) => {
    try {
      const { response, data, error } = await call(cut);
      return { status: response.status, headers: response.headers, body: data ?? error };
    } catch (error) {
      if (error instanceof WrongService) throw new ImportStopped(`the service at this address is not ${service}`);
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const wait = async (ms: number): Promise<boolean> => {
    if (ms <= 0) return !stop.aborted;
    return sleep(ms, stop).then(
      () => !stop.aborted,
      () => false,
    );
  };

  const retryAfterMs = ({ headers }: Answered) => seconds(readRetryAfter(headers.get("retry-after"), timeOfDay) ?? 0);

  return async (call, isFinal = () => false) => {
    let runningMs = 0;
    for (let tried = 1; ; tried++) {
      while (notBefore > now()) if (!(await wait(notBefore - now()))) return undefined;
      if (stop.aborted) return undefined;
      const answer = await answered(call);
      const isFailure = answer instanceof Error;
      const isRunning = !isFailure && answer.status === 409 && retryAfterMs(answer) > 0 && !isFinal(answer);
      if (isRunning && runningMs < maxRunningMs) {
        const ms = Math.max(firstWaitMs, retryAfterMs(answer));
        runningMs += ms;
        tried--;
        if (await wait(ms)) continue;
        return undefined;
      }
      if (!isFailure && answer.status !== 429 && (answer.status < 500 || isFinal(answer))) return answer;
      if (stop.aborted) return undefined;
      if (tried === maxTries && !isFailure && answer.status === 500) return answer;
      const problem = isFailure ? answer.message : `${url} responds with ${answer.status}`;
      if (tried === maxTries) throw new ImportStopped(`${problem}; tried ${maxTries} times`);
      const requestedMs = isFailure ? 0 : retryAfterMs(answer);
      if (requestedMs > maxWaitMs)
        throw new ImportStopped(`${problem}, and requests a wait of ${Math.ceil(requestedMs / 1000)} s`);
      if (requestedMs > 0 && now() + requestedMs > notBefore) {
        notBefore = now() + requestedMs;
        waits(Math.ceil(requestedMs / 1000));
      }
      const backOff = firstWaitMs * 2 ** (tried - 1);
      if (!(await wait(Math.max(requestedMs, backOff / 2 + (backOff / 2) * random())))) return undefined;
    }
  };
}
