import { Fault } from "../fault.ts";
import type { Log } from "../log.ts";
import { answerCall } from "./answer.ts";
import type { Call, Reply } from "./call.ts";
import { callerAddress } from "./caller-address.ts";
import type { Endpoint, RawInput } from "./endpoint.ts";
import { refuseDotSegments } from "./original-path.ts";
import { readPairs } from "./read-body.ts";
import { readFields } from "./read-fields.ts";
import { readJson } from "./read-json.ts";
import type { RouteParts } from "./route.ts";
import type { Identify, Surface } from "./surface.ts";

export interface Serving<D> {
  readonly deps: D;
  readonly identify: Identify;
  readonly log: Log;
  /** In Azure, where TLS ends before the app (decision G7). */
  readonly strictTransport: boolean;
  /** How many proxies before the app are ours (decision G7). */
  readonly trustedProxies: number;
}

/** The request's way through: who calls, what was sent, the handler, and the single catch (decisions G3 to G7). */
export function serve<D>(surface: Surface<D>, endpoint: Endpoint<D>, route: RouteParts, serving: Serving<D>) {
  const shownRoute = `${route.method} /${route.segments.join("/")}`;
  return (call: Call): Promise<Reply> => {
    const address = callerAddress(call, serving.trustedProxies);
    const options = { strictTransport: serving.strictTransport, ...(address && { fields: { address } }) };
    return answerCall(call, options, async requestId => {
      const reply = await guarded(surface, serving, call, () => answer(surface, endpoint, serving, call, requestId));
      serving.log.info("http", { surface: surface.name, route: shownRoute, status: reply.status });
      return reply;
    });
  };
}

/** Lets the surface's guard refuse, and puts its headers on whatever is answered. */
async function guarded<D>(
  { guard, refuse }: Surface<D>,
  { deps }: Serving<D>,
  call: Call,
  work: () => Promise<Reply>,
): Promise<Reply> {
  let headers: Readonly<Record<string, string>>;
  try {
    headers = guard?.(call, deps) ?? {};
  } catch (error) {
    if (error instanceof Fault) return refuse(error);
    throw error;
  }
  const reply = await work();
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

async function answer<D>(
  surface: Surface<D>,
  endpoint: Endpoint<D>,
  { deps, identify, log }: Serving<D>,
  call: Call,
  requestId: string,
): Promise<Reply> {
  try {
    const caller = await identify(endpoint.access, call);
    const input = await rawInput(surface, endpoint, call);
    const { reply, ignored } = await endpoint.run(input, deps, { call, caller, requestId });
    return ignored.length === 0 || surface.input === "fields" ? reply : withIgnored(reply, ignored, log);
  } catch (error) {
    const refusal = error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
    if (refusal.kind === "internal" && !repeats(error)) log.error("failed", { error });
    if (refusal.kind === "unavailable") log.warn("unavailable", { error });
    return surface.refuse(refusal);
  }
}

/** A 500 that nothing has caused in this call tells again what an earlier one came to, and was logged then. */
const repeats = (error: unknown): boolean => error instanceof Fault && error.cause === undefined;

async function rawInput<D>(surface: Surface<D>, endpoint: Endpoint<D>, call: Call): Promise<RawInput> {
  refuseDotSegments(call.headers);
  const { params } = call;
  if (surface.input === "fields") {
    const fields = await readFields(call);
    return { params, query: fields, body: fields };
  }
  const body = endpoint.body === undefined ? undefined : await readJson(call);
  return { params, query: readPairs(call.url.search), body };
}

/** A mistyped field is noticed before keys ship (decision G4). Paths come from the caller, so they are encoded and bounded. */
function withIgnored(reply: Reply, ignored: readonly string[], log: Log): Reply {
  const paths = ignored.slice(0, 20).map(encodedStart);
  log.warn("ignored_fields", { paths });
  return { ...reply, headers: { ...reply.headers, "x-ignored-fields": paths.join(", ") } };
}

/** As much of a path as fits 200 characters when encoded: clients bound what headers they read. */
function encodedStart(path: string): string {
  let encoded = "";
  for (const character of path.slice(0, 200).toWellFormed()) {
    const next = encoded + encodeURIComponent(character);
    if (next.length > 200) break;
    encoded = next;
  }
  return encoded;
}
