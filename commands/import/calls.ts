import type { Api, ApiAnswer } from "../api.ts";

/** The run can not go on, whatever key comes next. The message says why. */
export class ImportStopped extends Error {
  override readonly name = "ImportStopped";
}

/** How calls are made and, where nobody answers for a while, made again. */
export interface Calling {
  readonly api: Api;
  /** Fires when the run shall end: no call is made again. */
  readonly stop: AbortSignal;
  /** Fires when calls under way shall end too. */
  readonly cut: AbortSignal;
  /** Rejects when the signal fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly now: () => number;
  /** Is told when all have to wait. */
  readonly waits: (seconds: number) => void;
}

export type Answered = Pick<ApiAnswer, "status" | "body">;

/** Makes a call until it is answered; undefined where the run was ended before. Throws ImportStopped. */
export type Ask = (method: "GET" | "POST", path: string, body?: object) => Promise<Answered | undefined>;

const tries = 6;
const firstWaitMs = 500;
const longestWaitMs = 120_000;

/**
 * Makes calls that Core takes twice without harm (decision A10), so an unanswered one is made again. When Core asks for patience,
 * all of them wait. A 500 that stays is an answer, because it may be about this call alone.
 */
export function createAsk({ api, stop, cut, sleep, random, now, waits }: Calling): Ask {
  let notBefore = 0;

  const answered = async (method: "GET" | "POST", path: string, body: object | undefined) => {
    try {
      return await api.call({ method, path, body, signal: cut });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const passed = async (ms: number): Promise<boolean> => {
    if (ms <= 0) return !stop.aborted;
    return sleep(ms, stop).then(
      () => !stop.aborted,
      () => false,
    );
  };

  return async (method, path, body) => {
    for (let tried = 1; ; tried++) {
      while (notBefore > now()) if (!(await passed(notBefore - now()))) return undefined;
      if (stop.aborted) return undefined;
      const answer = await answered(method, path, body);
      const isFailure = answer instanceof Error;
      if (!isFailure && answer.status !== 429 && answer.status < 500) return answer;
      if (stop.aborted) return undefined;
      if (tried === tries && !isFailure && answer.status === 500) return answer;
      const trouble = isFailure ? answer.message : `${api.url} answers ${answer.status}`;
      if (tried === tries) throw new ImportStopped(`${trouble}; tried ${tries} times`);
      const asked = isFailure ? 0 : askedWaitMs(answer.headers, now());
      if (asked > longestWaitMs) throw new ImportStopped(`${trouble}, and asks to wait ${Math.ceil(asked / 1000)} s`);
      if (asked > 0 && now() + asked > notBefore) {
        notBefore = now() + asked;
        waits(Math.ceil(asked / 1000));
      }
      const backOff = firstWaitMs * 2 ** (tried - 1);
      if (!(await passed(Math.max(asked, backOff / 2 + (backOff / 2) * random())))) return undefined;
    }
  };
}

function askedWaitMs(headers: Headers, now: number): number {
  const text = headers.get("retry-after") ?? "";
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
