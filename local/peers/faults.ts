import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { HttpAnswer, HttpCall } from "../../commands/http-exchange.ts";
import type { createWatch } from "./watch.ts";

/** A way in which a simulated peer misbehaves, `times` times. */
export const faultRule = z.strictObject({
  kind: z.enum(["refuse", "delay", "hang", "drop", "cut", "throttle", "nonsense"]),
  times: z.int().positive().default(1),
  /** Only calls of this method. */
  method: z.string().toUpperCase().optional(),
  /** Only calls that arrive while so many others like them are in progress: a limit of calls at once. */
  above: z.int().nonnegative().optional(),
  /** Only calls whose decoded path matches this regular expression. */
  path: z.string().refine(isExpression, "is no regular expression").optional(),
  /** `before`: the peer does nothing. `after`: it does the work, then the response fails. */
  phase: z.enum(["before", "after"]).default("before"),
  /** Duration of `delay` in milliseconds. */
  ms: z.int().nonnegative().default(1000),
  /** Of `refuse` (by default 500) and `nonsense` (by default 200). */
  status: z.int().min(200).max(599).optional(),
  /** Of `throttle`: seconds, or the text of the header. */
  retryAfter: z.union([z.int().nonnegative(), z.string()]).default(1),
  /** Response body of `refuse`, `throttle` and `nonsense`. */
  body: z.unknown().optional(),
});

export type FaultRule = z.input<typeof faultRule>;
type ParsedRule = z.output<typeof faultRule>;

/** How a call continues: normally, with a dropped connection before or during the response, or with another response. */
type Fate = "go" | "drop" | "cut" | HttpAnswer;

/** The faults of one peer. */
export function createFaults(watch: ReturnType<typeof createWatch>) {
  let rules: ParsedRule[] = [];
  const inProgress = new Set<HttpCall>();
  const hung = new Set<(fate: "go" | "drop") => void>();

  const hang = (gone: AbortSignal) =>
    new Promise<Fate>(resolve => {
      const finish = (fate: "go" | "drop") => {
        hung.delete(finish);
        resolve(fate);
        watch.changed();
      };
      if (gone.aborted) return resolve("drop");
      gone.addEventListener("abort", () => finish("drop"), { once: true });
      hung.add(finish);
      watch.changed();
    });

  /** Ends every hang with this result. Returns their number. */
  const end = (fate: "go" | "drop") => {
    const ending = [...hung];
    for (const finish of ending) finish(fate);
    return ending.length;
  };

  return {
    add: (rule: ParsedRule) => void rules.push(rule),
    /** Counts a call as in progress until the returned function is called. */
    enter: (call: HttpCall) => {
      inProgress.add(call);
      return () => inProgress.delete(call);
    },
    /** Returns the first matching rule and counts one of its times. */
    take: (call: HttpCall): ParsedRule | undefined => {
      const others = (rule: ParsedRule) => [...inProgress].filter(each => each !== call && fits(rule, each)).length;
      const found = rules.find(rule => fits(rule, call) && (rule.above === undefined || others(rule) >= rule.above));
      if (found === undefined) return undefined;
      rules = rules
        .map(rule => (rule === found ? { ...rule, times: rule.times - 1 } : rule))
        .filter(rule => rule.times > 0);
      return found;
    },
    /** Returns how the call continues, after a delay or hang; `drop` if `gone` aborts during a hang. */
    strike: async (rule: ParsedRule, gone: AbortSignal): Promise<Fate> => {
      switch (rule.kind) {
        case "hang":
          return hang(gone);
        case "drop":
        case "cut":
          return rule.kind;
        case "delay":
          // A slow peer does its work even if the caller has disconnected.
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
            body: rule.body ?? "<html><body>This is not the expected response.</body></html>",
          };
      }
    },
    /** Returns the rules with their remaining times. */
    list: (): readonly ParsedRule[] => rules,
    clear: () => {
      rules = [];
      end("drop");
    },
    hanging: () => hung.size,
    end,
  };
}

const fits = (rule: ParsedRule, call: HttpCall) =>
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
