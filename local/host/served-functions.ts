// Development tool: from what the app registered to what the host serves.

import { isDisabled, type Setting } from "./app-settings.ts";
import type { HostLog, HttpTrigger, TimerTrigger } from "./core-contract.ts";
import type { FunctionsCore, RegisteredFunction } from "./functions-core.ts";
import { parseRoute, type Route } from "./http/route.ts";
import { parseSchedule, type Schedule } from "./schedule.ts";

interface Served {
  readonly name: string;
  readonly registered: RegisteredFunction;
  /** The name under which the trigger's input is handed over. */
  readonly inputName: string;
  readonly disabled: boolean;
}

export interface HttpFunction extends Served {
  readonly kind: "http";
  readonly template: string;
  readonly route: Route;
  /** Upper case. */
  readonly methods: readonly string[];
  /** Whether it requires a key. */
  readonly needsKey: boolean;
}

export interface TimerFunction extends Served {
  readonly kind: "timer";
  readonly schedule: Schedule;
}

export type ServedFunction = HttpFunction | TimerFunction;

/**
 * The functions in the order in which the real host tries them: by name without regard to letter case. One whose route is taken is named
 * in the log and left out; the others are served.
 *
 * @throws Error for an invalid route template, which in Azure takes the whole app down, and for an invalid schedule
 */
export function servedFunctions(
  core: FunctionsCore,
  { setting, log }: { setting: Setting; log: HostLog },
): readonly ServedFunction[] {
  const served: ServedFunction[] = [];
  for (const registered of [...core.functions.values()].sort((a, b) => byName(a.metadata.name, b.metadata.name))) {
    const { name, bindings } = registered.metadata;
    const [inputName, trigger] = Object.entries(bindings).find(([, { type }]) => /trigger$/i.test(type)) ?? [];
    if (inputName === undefined || trigger === undefined) throw new Error(`The function '${name}' has no trigger.`);
    const base = { name, registered, inputName, disabled: isDisabled(name, setting) };
    if (trigger.type === "timerTrigger") {
      served.push({ ...base, kind: "timer", schedule: parseSchedule((trigger as TimerTrigger).schedule) });
      continue;
    }
    const candidate = httpFunction(base, trigger as HttpTrigger);
    const conflict = routeConflict(candidate, served);
    if (conflict === undefined) served.push(candidate);
    else log("error", "Host.Startup", `The '${name}' function is in error: ${conflict}`);
  }
  return served;
}

/** Ordinal: by code unit of the upper-case name, so `_` comes after the letters. */
function byName(a: string, b: string): number {
  const [left, right] = [a.toUpperCase(), b.toUpperCase()];
  return left < right ? -1 : left > right ? 1 : 0;
}

function httpFunction(base: Served, trigger: HttpTrigger): HttpFunction {
  const template = trigger.route || base.name;
  try {
    return {
      ...base,
      kind: "http",
      template,
      route: parseRoute(template),
      methods: trigger.methods.map(method => method.toUpperCase()),
      needsKey: trigger.authLevel.toLowerCase() !== "anonymous",
    };
  } catch (error) {
    throw new Error(`The host cannot start: function '${base.name}': ${(error as Error).message}.`);
  }
}

/** The real host keeps every route beginning with these letters for itself. */
const builtIn = /^(?:admin|runtime)/i;

function routeConflict(candidate: HttpFunction, served: readonly ServedFunction[]): string | undefined {
  if (builtIn.test(candidate.template)) return "The specified route conflicts with one or more built in routes.";
  const rival = served.find(
    other =>
      other.kind === "http" &&
      other.template.toLowerCase() === candidate.template.toLowerCase() &&
      other.methods.some(method => candidate.methods.includes(method)),
  );
  return rival && `The route specified conflicts with the route defined by function '${rival.name}'.`;
}
