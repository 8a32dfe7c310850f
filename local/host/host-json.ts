// Development tool: the part of host.json that the local host supports.
import type { RequestLimits } from "./http/request-queue.ts";
import { parseTimeSpan } from "./schedule.ts";

/** The settings of host.json that this host supports. */
export interface HostJson {
  readonly version?: string;
  /** `[d.]hh:mm:ss`, or `-1` for no limit; 30 minutes if absent. */
  readonly functionTimeout?: string;
  readonly extensions?: {
    readonly http?: RequestLimits & {
      readonly routePrefix?: string;
      readonly customHeaders?: Readonly<Record<string, string>>;
    };
  };
}

/** Returns the time limit of a function, undefined for no limit. Throws if it is not a time span. */
export function functionTimeoutMs({ functionTimeout = "00:30:00" }: HostJson): number | undefined {
  if (functionTimeout === "-1") return undefined;
  const limit = parseTimeSpan(functionTimeout);
  if (limit === undefined) throw new Error(`host.json: functionTimeout "${functionTimeout}" is not a time span`);
  return limit;
}
