import { apiUrl } from "../api.ts";
import { type Ask, createAsk, ImportStopped } from "./calls.ts";
import { catchInterrupt } from "./interrupt.ts";
import type { Screen } from "./screen.ts";

/** The exit codes of a command that sends the lines of a file. */
export const exitCodes = { done: 0, someFailed: 1, notStarted: 2, stopped: 3 };

interface Calls {
  /** What is called, such as "a Core API", for messages. */
  readonly service: string;
  readonly url: string;
  readonly screen: Screen;
}

/** How calls ended early: the exit code of a signal, the reason for which no further call makes sense. */
export interface EndedEarly {
  readonly interrupted?: number | undefined;
  readonly stopped?: string | undefined;
}

/**
 * Runs work that calls an API. Ctrl-C ends it in order.
 * @param work gets the function that repeats calls, and a signal that fires when no further call is to be made
 * @returns its result, without it if it has thrown `ImportStopped`
 */
export async function runCalls<R extends object>(
  { service, url, screen }: Calls,
  work: (ask: Ask, stop: AbortSignal) => Promise<R>,
): Promise<Partial<R> & EndedEarly> {
  const interrupt = catchInterrupt(() =>
    screen.note("Stopping: waiting for calls in progress. Press Ctrl-C again to stop at once."),
  );
  const { stop, cut } = interrupt;
  const address = apiUrl(url);
  const ask = createAsk({
    service,
    url: address,
    stop,
    cut,
    waits: seconds => screen.note(`${address} requests a wait of ${seconds} s.`),
  });
  try {
    return { ...(await work(ask, stop)), interrupted: interrupt.exitCode() };
  } catch (error) {
    if (!(error instanceof ImportStopped)) throw error;
    return { stopped: error.message, interrupted: interrupt.exitCode() } as Partial<R> & EndedEarly;
  } finally {
    interrupt.release();
  }
}
