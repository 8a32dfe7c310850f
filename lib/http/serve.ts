import { callerFields } from "../caller.ts";
import { Fault } from "../fault.ts";
import { type Fields, type Log, withLogFields } from "../log.ts";
import { answerCall } from "./answer.ts";
import type { Call, Reply } from "./call.ts";
import { callerAddress } from "./caller/caller-address.ts";
import { cameThroughProxy, type ProxyProof, requireProxy } from "./caller/proxy-proof.ts";
import type { Access, Endpoint, Identity, RawInput } from "./endpoint.ts";
import { refuseDotSegments } from "./input/original-path.ts";
import { readFields } from "./input/read-fields.ts";
import { readJson } from "./input/read-json.ts";
import { readQuery } from "./input/read-pairs.ts";
import type { RouteParts } from "./route.ts";
import type { Api, Identify } from "./surface.ts";

export interface Serving<D, S = unknown> {
  readonly deps: D;
  readonly identify: Identify<S>;
  readonly log: Log;
  /** In Azure, where TLS ends before the app (decision G7). */
  readonly strictTransport: boolean;
  /** How many proxies before the app are ours (decision G7). */
  readonly trustedProxies: number;
  /** What a call through the proxy carries; absent: a call may come directly (decision G7). */
  readonly proxyProof?: ProxyProof | undefined;
}

/** What a call came to: the reply, and the fields that name the caller in its log events. */
interface Outcome {
  readonly reply: Reply;
  readonly who: Fields;
}

/** The request's way through: who calls, what was sent, the handler, and the single catch (decisions G3 to G7). */
export function serve<D, S>(
  surface: Api<D, S>,
  endpoint: Endpoint<D, S>,
  route: RouteParts,
  serving: Serving<D, S>,
): (call: Call) => Promise<Reply> {
  const shown = { surface: surface.name, route: `${route.method} /${route.segments.join("/")}` };
  return call => {
    // The platform itself writes the last entry, so that one is true of a call beside the proxy too.
    const hops = cameThroughProxy(call, serving.proxyProof)
      ? serving.trustedProxies
      : Math.min(serving.trustedProxies, 1);
    const address = callerAddress(call, hops);
    const options = { strictTransport: serving.strictTransport, ...(address && { fields: { address } }) };
    return answerCall(call, options, async requestId => {
      const { reply, who } = await guarded(surface, { ...serving, shown }, call, () =>
        answer(surface, endpoint, { ...serving, shown }, call, requestId),
      );
      serving.log.info("http", { ...shown, status: reply.status, ...who });
      return reply;
    });
  };
}

/** A call's surface and route as its log events show them. */
interface Shown {
  readonly shown: Fields;
}

/** Refuses a call beside the proxy, lets the surface's guard refuse, and puts its headers on whatever is answered. */
async function guarded<D, S>(
  { guard, refuse }: Api<D, S>,
  { deps, log, shown, proxyProof }: Serving<D, S> & Shown,
  call: Call,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  let headers: Readonly<Record<string, string>>;
  try {
    requireProxy(call, proxyProof);
    headers = guard?.(call, deps) ?? {};
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const reply = refuse(error);
    logRefusedCaller(error, reply, { log, shown });
    return { reply, who: {} };
  }
  const { reply, who } = await work();
  return { reply: { ...reply, headers: { ...headers, ...reply.headers } }, who };
}

async function answer<D, S>(
  surface: Api<D, S>,
  endpoint: Endpoint<D, S>,
  { deps, identify, log, shown }: Serving<D, S> & Shown,
  call: Call,
  requestId: string,
): Promise<Outcome> {
  let who: Fields = {};
  try {
    const identity = required(endpoint.access, await identify(endpoint.access, call));
    who = identity.logFields ?? {};
    const reply = await withLogFields(who, async () => {
      const input = await rawInput(surface, endpoint, call);
      const { reply, ignored } = await endpoint.run(input, deps, { ...identity, call, requestId });
      return ignored.length === 0 || surface.input === "fields" ? reply : withIgnored(reply, ignored, log);
    });
    return { reply, who };
  } catch (error) {
    const refusal = error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
    who = { ...who, ...(refusal.caller && callerFields(refusal.caller)) };
    return withLogFields(who, () => {
      if (refusal.kind === "internal" && !repeats(error)) log.error("failed", { error });
      if (refusal.kind === "unavailable") log.warn("unavailable", { error });
      const reply = surface.refuse(refusal);
      if (endpoint.access === "caller" || refusal.reason !== undefined)
        logRefusedCaller(refusal, reply, { log, shown });
      return { reply, who };
    });
  }
}

/** Throws where the access asks for a caller or a session and `identify` found none: an endpoint never falls open (decision G3). */
function required<S>(access: Access, identity: Identity<S>): Identity<S> {
  const found = access === "caller" ? identity.caller : identity.session;
  if (access !== "open" && found === undefined) throw new Error(`${access} was not identified`);
  return identity;
}

/** Logs the refusal of a caller, with the reason (decision G3). A sign-in that is refused has an audit event of its own. */
function logRefusedCaller(
  { kind, reason = kind, caller }: Fault,
  { status }: Reply,
  { log, shown }: { readonly log: Log } & Shown,
): void {
  if (kind !== "unauthenticated" && kind !== "forbidden") return;
  log.info("caller_refused", { ...shown, status, reason, ...(caller && callerFields(caller)) });
}

/** A 500 that nothing has caused in this call tells again what an earlier one came to, and was logged then. */
const repeats = (error: unknown): boolean => error instanceof Fault && error.cause === undefined;

async function rawInput<D, S>(surface: Api<D, S>, endpoint: Endpoint<D, S>, call: Call): Promise<RawInput> {
  refuseDotSegments(call.headers);
  const { params } = call;
  if (surface.input === "fields") {
    const fields = await readFields(call, surface.bodyLimitBytes);
    return { params, query: fields, body: fields };
  }
  const body = endpoint.body === undefined ? undefined : await readJson(call, surface.bodyLimitBytes);
  return { params, query: readQuery(call.url), body };
}

/** A mistyped field is noticed before keys ship (decision G4). Paths come from the caller, so they are encoded and bounded. */
function withIgnored(reply: Reply, ignored: readonly string[], log: Log): Reply {
  const paths = ignored.map(encodedStart);
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
