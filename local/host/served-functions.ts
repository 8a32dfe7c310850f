// Development tool: from what the app registered to what the host serves.

import { isDisabled, resolveSettings, type Setting } from "./app-settings.ts";
import type { HostLog, HttpTrigger, TimerTrigger } from "./core-contract.ts";
import type { FunctionsCore, RegisteredFunction } from "./functions-core.ts";
import { parseRoute, type Route } from "./http/route.ts";
import { parseSchedule, type Schedule } from "./schedule.ts";

export type AuthLevel = "anonymous" | "function" | "admin";

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
  readonly authLevel: AuthLevel;
}

export interface TimerFunction extends Served {
  readonly kind: "timer";
  readonly schedule: Schedule;
  readonly runOnStartup: boolean;
  readonly useMonitor: boolean;
}

export type ServedFunction = HttpFunction | TimerFunction;

/**
 * The functions in the order in which the real host tries them: by name without regard to letter case. One that is in error is named
 * in the log and left out; the others are served.
 *
 * @throws Error for an invalid route template, which in Azure takes the whole app down
 */
export function servedFunctions(
  core: FunctionsCore,
  { routePrefix, setting, log }: { routePrefix: string; setting: Setting; log: HostLog },
): readonly ServedFunction[] {
  const served: ServedFunction[] = [];
  const inError = (name: string, reason: string) =>
    log("error", "Host.Startup", `The '${name}' function is in error: ${reason}`);

  for (const registered of [...core.functions.values()].sort((a, b) => byName(a.metadata.name, b.metadata.name))) {
    const { name, bindings } = registered.metadata;
    const [inputName, trigger] = Object.entries(bindings).find(([, { type }]) => /trigger$/i.test(type)) ?? [];
    if (inputName === undefined || trigger === undefined) {
      inError(name, "it has no trigger.");
      continue;
    }
    const base = { name, registered, inputName, disabled: isDisabled(name, setting) };
    if (trigger.type === "httpTrigger") {
      const candidate = httpFunction(base, trigger as HttpTrigger, routePrefix);
      const conflict = routeConflict(candidate, served);
      if (conflict === undefined) served.push(candidate);
      else inError(name, conflict);
    } else if (trigger.type === "timerTrigger") {
      try {
        served.push(timerFunction(base, trigger as TimerTrigger, setting));
      } catch (error) {
        inError(name, (error as Error).message);
      }
    } else {
      inError(name, `triggers of type ${trigger.type} are not served locally.`);
    }
  }
  return served;
}

/** Ordinal: by code unit of the upper-case name, so `_` comes after the letters. */
function byName(a: string, b: string): number {
  const [left, right] = [a.toUpperCase(), b.toUpperCase()];
  return left < right ? -1 : left > right ? 1 : 0;
}

function httpFunction(base: Served, trigger: HttpTrigger, routePrefix: string): HttpFunction {
  const { route = "", methods, authLevel } = trigger;
  const template = route || base.name;
  try {
    const path = [routePrefix.replace(/^\/|\/$/g, ""), template].filter(part => part !== "").join("/");
    if (template.startsWith("/")) throw new Error(`the route "${template}" begins with a slash`);
    return {
      ...base,
      kind: "http",
      template,
      route: parseRoute(path),
      methods: methods.map(method => method.toUpperCase()),
      authLevel: authLevel.toLowerCase() as AuthLevel,
    };
  } catch (error) {
    throw new Error(`The host cannot start: function '${base.name}': ${(error as Error).message}.`);
  }
}

/** The real host keeps every route beginning with these letters for itself, also behind a prefix. */
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

const timerFunction = (base: Served, trigger: TimerTrigger, setting: Setting): TimerFunction => ({
  ...base,
  kind: "timer",
  schedule: parseSchedule(resolveSettings(trigger.schedule, setting)),
  runOnStartup: trigger.runOnStartup ?? false,
  useMonitor: trigger.useMonitor ?? true,
});
