import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { PeerAnswer, PeerCall } from "./http-exchange.ts";
import type { Watch } from "./watch.ts";

/** A way in which a simulated peer misbehaves, `times` times. */
export const faultRule = z.strictObject({
  kind: z.enum(["refuse", "delay", "hang", "drop", "cut", "throttle", "nonsense"]),
  times: z.int().positive().default(1),
  /** Only calls of this method. */
  method: z.string().toUpperCase().optional(),
  /** Only calls whose decoded path matches this regular expression. */
  path: z.string().refine(isExpression, "is no regular expression").optional(),
  /** `before`: the peer did nothing. `after`: it did the work, then the answer goes wrong. */
  phase: z.enum(["before", "after"]).default("before"),
  /** How long a `delay` lasts, in milliseconds. */
  ms: z.int().nonnegative().default(1000),
  /** Of `refuse` (500 where missing) and `nonsense` (200 where missing). */
  status: z.int().min(200).max(599).optional(),
  /** Of `throttle`, in seconds. */
  retryAfter: z.int().nonnegative().default(1),
  /** What `refuse`, `throttle` and `nonsense` answer. */
  body: z.unknown().optional(),
});

export type FaultRule = z.input<typeof faultRule>;
type ParsedRule = z.output<typeof faultRule>;

/** What a call is to expect: to go on, to lose its connection before its answer or in the midst of it, or another answer. */
type Fate = "go" | "drop" | "cut" | PeerAnswer;

export interface Faults {
  add(rule: ParsedRule): void;
  /** The first rule that fits, one of its times used up. */
  take(call: PeerCall): ParsedRule | undefined;
  /** Resolves when it is decided how the call goes on; `drop` when `gone` is aborted while it hangs. */
  strike(rule: ParsedRule, gone: AbortSignal): Promise<Fate>;
  /** The rules with the times they have left. */
  list(): readonly ParsedRule[];
  clear(): void;
  hanging(): number;
  /** Ends every hang this way; answers how many there were. */
  end(fate: "go" | "drop"): number;
}

export function createFaults(watch: Watch): Faults {
  let rules: ParsedRule[] = [];
  const hung = new Set<(fate: "go" | "drop") => void>();

  const hang = (gone: AbortSignal) =>
    new Promise<Fate>(resolve => {
      const settle = (fate: "go" | "drop") => {
        hung.delete(settle);
        resolve(fate);
        watch.changed();
      };
      if (gone.aborted) return resolve("drop");
      gone.addEventListener("abort", () => settle("drop"), { once: true });
      hung.add(settle);
      watch.changed();
    });

  const end = (fate: "go" | "drop") => {
    const ending = [...hung];
    for (const settle of ending) settle(fate);
    return ending.length;
  };

  return {
    add: rule => {
      rules.push(rule);
    },
    take: call => {
      const found = rules.find(rule => fits(rule, call));
      if (found === undefined) return undefined;
      rules = rules
        .map(rule => (rule === found ? { ...rule, times: rule.times - 1 } : rule))
        .filter(rule => rule.times > 0);
      return found;
    },
    strike: async (rule, gone) => {
      switch (rule.kind) {
        case "hang":
          return hang(gone);
        case "drop":
        case "cut":
          return rule.kind;
        case "delay":
          // A caller that gave up meanwhile does not undo a slow peer's work.
          await pause(rule.ms, undefined, { ref: false });
          return "go";
        case "refuse":
          return { status: rule.status ?? 500, body: rule.body ?? problem("Refused") };
        case "throttle":
          return {
            status: 429,
            headers: { "retry-after": String(rule.retryAfter) },
            body: rule.body ?? problem("TooManyRequests"),
          };
        case "nonsense":
          return {
            status: rule.status ?? 200,
            headers: { "content-type": "text/html" },
            body: rule.body ?? "<html><body>This is not what you asked for.</body></html>",
          };
      }
    },
    list: () => rules,
    clear: () => {
      rules = [];
      end("drop");
    },
    hanging: () => hung.size,
    end,
  };
}

const fits = (rule: ParsedRule, call: PeerCall) =>
  (rule.method === undefined || rule.method === call.method) &&
  (rule.path === undefined || new RegExp(rule.path).test(call.path));

const problem = (code: string) => ({ error: { code, message: "A simulated fault" } });

function isExpression(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}
