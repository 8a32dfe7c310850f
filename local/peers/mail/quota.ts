import type * as z from "zod";
import type { mailQuota } from "./message.ts";

type Limit = z.output<typeof mailQuota>;

/** The quota of a mail service: none until it is set. */
export function createQuota() {
  let limit: Limit | undefined;
  const answered = { sends: [] as readonly number[], lookUps: [] as readonly number[] };
  return {
    set: (changed: Limit | undefined) => {
      limit = changed;
    },
    /** Returns 0 and counts a call that the quota allows; otherwise the seconds until it allows one. */
    secondsToWait: (calls: keyof typeof answered): number => {
      const now = Date.now();
      const most = limit?.[calls];
      const periodMs = (limit?.seconds ?? 0) * 1000;
      const earlier = answered[calls].filter(at => at > now - periodMs);
      if (most !== undefined && earlier.length >= most)
        return Math.max(1, Math.ceil(((earlier.at(-most) ?? now) + periodMs - now) / 1000));
      answered[calls] = [...earlier, now];
      return 0;
    },
  };
}
