import { appRoleOf, callerFields, hasRole } from "../caller.ts";
import { Fault } from "../fault.ts";
import { type Fields, type Log, withLogFields } from "../log.ts";
import type { Api, Identify, RouteParts } from "./api.ts";
import type { Call, Reply } from "./call.ts";
import type { Access, CallContext, Endpoint, Identity } from "./endpoint.ts";
import { callerAddress, cameThroughProxy, checkOriginalPath, requireProxy } from "./proxies.ts";
import { readJson } from "./read-body.ts";
import { readFields, readQuery } from "./read-fields.ts";
import { canRefuse, requireListedReply, respond } from "./respond.ts";

export interface ServeOptions<D, S = unknown> {
  readonly deps: D;
  readonly identify: Identify<S>;
  readonly log: Log;
  /** Whether to send `strict-transport-security`. Only in Azure, where clients connect with TLS. */
  readonly strictTransport: boolean;
  /**
   * Whether a reply that the endpoint does not list becomes a 500. On everywhere but in Azure, so that no answer is
   * undocumented.
   */
  readonly onlyListed?: boolean;
  /** Number of trusted proxies in front of the app (G7). */
  readonly trustedProxies: number;
  /** The header by which the proxy identifies itself. If absent, calls may come directly. */
  readonly proxyProof?: Parameters<typeof requireProxy>[1];
}

/** The reply to a call, and the log fields that identify its caller or explain the reply. */
interface Outcome {
  readonly reply: Reply;
  readonly logFields: Fields;
}

/**
 * Returns the HTTP handler of an endpoint: checks the proxy and the API's guard, authenticates, parses, handles,
 * responds. Every Fault becomes an error response, every other error a 500.
 */
export function serve<D, S>(
  api: Api<D, S>,
  endpoint: Endpoint<D, S>,
  route: RouteParts,
  options: ServeOptions<D, S>,
): (call: Call) => Promise<Reply> {
  const labels = { api: api.name, route: `${route.method} /${route.segments.join("/")}` };
  const { log, strictTransport, trustedProxies, proxyProof } = options;
  return call => {
    // The platform writes the last entry of X-Forwarded-For, so that one is reliable even if the call bypassed the
    // proxy.
    const hops = cameThroughProxy(call, proxyProof) ? trustedProxies : Math.min(trustedProxies, 1);
    const address = callerAddress(call, hops);
    return respond(call, { strictTransport, ...(address && { fields: { address } }) }, async requestId => {
      const context = { call, requestId, address };
      const { reply, logFields } = await handleCall(api, endpoint, { ...options, labels }, context);
      log.info("http", { ...labels, status: reply.status, ...logFields });
      return reply;
    });
  };
}

/** API and route of a call as log fields. */
interface CallLabels {
  readonly labels: Fields;
}

async function handleCall<D, S>(
  api: Api<D, S>,
  endpoint: Endpoint<D, S>,
  { deps, identify, log, labels, onlyListed, proxyProof }: ServeOptions<D, S> & CallLabels,
  context: CallContext,
): Promise<Outcome> {
  const { call } = context;
  let guardHeaders: Reply["headers"] = {};
  let identityFields: Fields = {};
  const outcome = (reply: Reply, logFields: Fields): Outcome => ({
    reply: { ...reply, headers: { ...guardHeaders, ...reply.headers } },
    logFields,
  });
  try {
    requireProxy(call, proxyProof);
    guardHeaders = api.guard?.(call, deps);
    const identity = requireIdentity(endpoint.access, await identify(endpoint.access, call));
    identityFields = identity.logFields ?? {};
    requireRole(api, identity, endpoint);
    const reply = await withLogFields(identityFields, async () => {
      const input = await readInput(api, endpoint, call);
      const { reply, ignored } = await endpoint.run(input, deps, { ...identity, ...context });
      if (onlyListed) requireListedReply(endpoint, reply);
      return ignored.length === 0 ? reply : withIgnored(reply, ignored, log);
    });
    return outcome(reply, identityFields);
  } catch (thrown) {
    const isListed =
      !(onlyListed && thrown instanceof Fault) ||
      canRefuse(api.input, endpoint, { method: call.method, kind: thrown.kind });
    const error = isListed ? thrown : new Error("The endpoint does not list this refusal.", { cause: thrown });
    const fault = error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
    identityFields = { ...identityFields, ...(fault.caller && callerFields(fault.caller)) };
    return withLogFields(identityFields, () => {
      if (fault.kind === "internal" && !isReplayed(error)) log.error("failed", { error });
      // With a reason nothing is broken: the event of the call has it, because a flood must not cause more events than
      // calls.
      const isOverload = fault.kind === "unavailable" && fault.reason !== undefined;
      if (fault.kind === "unavailable" && !isOverload) log.warn("unavailable", { error });
      const reply = api.refuse(fault);
      if (endpoint.access === "caller" || fault.reason !== undefined) logRefusedCaller(fault, reply, { log, labels });
      return outcome(reply, isOverload ? { ...identityFields, reason: fault.reason } : identityFields);
    });
  }
}

/**
 * Returns the identity. Throws if the access requires a caller or session and there is none, so that no endpoint is
 * open by mistake.
 */
function requireIdentity<S>(access: Access, identity: Identity<S>): Identity<S> {
  const found = access === "caller" ? identity.caller : identity.session;
  if (access !== "open" && access !== "optional_session" && found === undefined)
    throw new Error(`${access} was not authenticated`);
  return identity;
}

/**
 * Throws Fault `forbidden` for a caller without the role. An endpoint that states none requires the one that includes
 * all.
 */
function requireRole(
  { name }: Pick<Api<never>, "name">,
  { caller }: Identity,
  { role = name === "core" ? "admin" : "call" }: Pick<Endpoint<never>, "role">,
): void {
  if (caller === undefined || hasRole(caller, role)) return;
  const message =
    caller.kind === "tenant"
      ? `The token does not contain the role ${appRoleOf(name === "core" ? "core" : "connector", role)}.`
      : `The API token has the role ${caller.roles?.join()}; this call needs the role ${role}.`;
  throw new Fault("forbidden", message, { reason: "no_role", caller });
}

/** Logs a 401 or 403 with its reason. Refused sign-ins are not logged here: they have an audit event. */
function logRefusedCaller(
  { kind, reason = kind, caller }: Fault,
  { status }: Reply,
  { log, labels }: { readonly log: Log } & CallLabels,
): void {
  if (kind !== "unauthenticated" && kind !== "forbidden") return;
  log.info("caller_refused", { ...labels, status, reason, ...(caller && callerFields(caller)) });
}

/** Returns whether a fault replays an earlier outcome: an `internal` fault without a cause, which was logged then. */
const isReplayed = (error: unknown): boolean => error instanceof Fault && error.cause === undefined;

async function readInput<D, S>(api: Api<D, S>, endpoint: Endpoint<D, S>, call: Call) {
  checkOriginalPath(call);
  const { params } = call;
  if (api.input === "fields") {
    const fields = await readFields(call, api.bodyLimitBytes);
    return { params, query: fields, body: fields, dropsUnknownFields: true };
  }
  const body = endpoint.body === undefined ? undefined : await readJson(call, api.bodyLimitBytes);
  return { params, query: readQuery(call.url), body };
}

/**
 * Logs ignored fields and names them in a header, so that a mistyped field is noticed. Encodes and cuts the paths,
 * which are caller input.
 */
function withIgnored(reply: Reply, ignored: readonly string[], log: Log): Reply {
  const paths = ignored.map(encodePathStart);
  log.warn("ignored_fields", { paths });
  return { ...reply, headers: { ...reply.headers, "x-ignored-fields": paths.join(", ") } };
}

/**
 * Returns the start of a path that fits into 200 characters when URL-encoded, because clients limit the size of
 * headers.
 */
function encodePathStart(path: string): string {
  let encoded = "";
  for (const character of path.slice(0, 200).toWellFormed()) {
    const next = encoded + encodeURIComponent(character);
    if (next.length > 200) break;
    encoded = next;
  }
  return encoded;
}
