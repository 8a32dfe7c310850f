import { appRoleOf, callerFields, hasRole } from "../caller.ts";
import { Fault, type FaultKind } from "../fault.ts";
import { addLogFields, type Log } from "../log.ts";
import type { Api, Identify } from "./api.ts";
import { type Call, type Reply, type ResponseOptions, respond } from "./call.ts";
import { type CallContext, type Endpoint, type Identity, responseHeaders } from "./endpoint.ts";
import { findIgnoredFields, unknownFields } from "./problems.ts";
import { callerAddress, cameThroughProxy, checkOriginalPath, notThroughProxy, type ProxyProof } from "./proxies.ts";
import { readFields } from "./read-fields.ts";
import { readJsonInput } from "./read-json-input.ts";

export interface ServeOptions<D, S = unknown> extends ResponseOptions {
  readonly deps: D;
  readonly identify: Identify<S>;
  readonly log: Log;
  /**
   * Whether a reply or Fault that the endpoint does not list becomes a 500. On everywhere but in Azure, so that none is
   * undocumented.
   */
  readonly onlyListed?: boolean;
  /** Number of trusted proxies in front of the app (G7). */
  readonly trustedProxies: number;
  /** The header by which the proxy identifies itself. If absent, calls may come directly. */
  readonly proxyProof?: ProxyProof | undefined;
  /** Handles OPTIONS. If absent, OPTIONS is not registered. */
  readonly preflight?: ((call: Call) => Promise<Reply>) | undefined;
}

/**
 * Returns the HTTP handler of an endpoint: checks the proxy and the API's guard, authenticates, parses, handles,
 * responds. Every Fault becomes an error response, every other error a 500.
 */
export function serve<D, S>(
  api: Api<D, S>,
  endpoint: Endpoint<D, S>,
  template: string,
  options: ServeOptions<D, S>,
): (call: Call) => Promise<Reply> {
  const { deps, identify, log, onlyListed, trustedProxies, proxyProof, preflight } = options;
  return call => {
    if (preflight !== undefined && call.method === "OPTIONS") return preflight(call);
    return respond(call, options, async requestId => {
      // The platform writes the last entry of X-Forwarded-For, so that one is reliable even if the call bypassed the
      // proxy.
      const isProxied = cameThroughProxy(call, proxyProof);
      const address = callerAddress(call, isProxied ? trustedProxies : Math.min(trustedProxies, 1));
      if (address !== undefined) addLogFields({ address });
      const labels = { api: api.name, route: `${call.method} /${template}` };
      let headers: Reply["headers"];
      let reply: Reply;
      let reason: string | undefined;
      try {
        if (!isProxied) throw notThroughProxy();
        headers = api.guard?.(call, deps);
        const identity = await identify(endpoint.access, call);
        requireAccess(api, endpoint, identity);
        reply = await handle(api, endpoint, { ...identity, call, requestId, address }, options);
        if (onlyListed) requireListedReply(endpoint, reply);
      } catch (error) {
        const fault = toFault(error, onlyListed !== true || isListed(endpoint, call.method, error), log);
        if (fault.caller !== undefined) addLogFields(callerFields(fault.caller));
        if (fault.kind === "unavailable") reason = fault.reason;
        reply = api.refuse(fault);
        if (isCallerRefused(fault, endpoint))
          log.info("caller_refused", { ...labels, status: reply.status, reason: fault.reason ?? fault.kind });
      }
      log.info("http", { ...labels, status: reply.status, ...(reason !== undefined && { reason }) });
      return { ...reply, headers: { ...headers, ...reply.headers } };
    });
  };
}

/**
 * Throws if the access requires a caller or session and there is none, so that no endpoint is open by mistake. Throws
 * Fault `forbidden` for a caller without the role. An endpoint that states none requires the one that includes all.
 */
function requireAccess<D, S>(
  { name }: Api<D, S>,
  { access, role = name === "core" ? "admin" : "call" }: Endpoint<D, S>,
  { caller, session }: Identity<S>,
): void {
  const found = access === "caller" ? caller : session;
  if (access !== "open" && access !== "optional_session" && found === undefined)
    throw new Error(`${access} was not authenticated`);
  if (caller === undefined || hasRole(caller, role)) return;
  const message =
    caller.kind === "tenant"
      ? `The token does not contain the role ${appRoleOf(name === "core" ? "core" : "connector", role)}.`
      : `The API token has the role ${caller.roles?.join()}; this call needs the role ${role}.`;
  throw new Fault("forbidden", message, { reason: "no_role", caller });
}

/**
 * Reads the input and calls the endpoint. Refuses what the endpoint does not know before it changes anything, or names
 * the fields that it ignores, so that a mistyped field is noticed.
 */
async function handle<D, S>(
  { input, bodyLimitBytes, ignoresUnknown = false }: Api<D, S>,
  endpoint: Endpoint<D, S>,
  context: CallContext & Identity<S>,
  { deps, log }: ServeOptions<D, S>,
): Promise<Reply> {
  const { call } = context;
  const { params } = call;
  checkOriginalPath(call);
  if (input === "fields") {
    const fields = await readFields(call, bodyLimitBytes);
    const problems = ignoresUnknown || call.method === "GET" ? [] : unknownFields(endpoint.body, fields);
    return endpoint.run({ params, query: fields, body: fields, problems }, deps, context);
  }
  const given = readJsonInput(endpoint, call, bodyLimitBytes);
  const reply = await endpoint.run({ params, ...given }, deps, context);
  const ignored = endpoint.body && endpoint.ignoresUnknown ? findIgnoredFields(endpoint.body, given.body) : [];
  if (ignored.length === 0) return reply;
  const paths = ignored.map(encodeFieldPath);
  log.warn("ignored_fields", { paths });
  return { ...reply, headers: { ...reply.headers, "x-ignored-fields": paths.join(", ") } };
}

/**
 * Returns the start of a field's path, which is caller input, that fits into 200 characters when URL-encoded, because
 * clients limit the size of headers.
 */
function encodeFieldPath(fieldPath: string): string {
  let encoded = "";
  for (const character of fieldPath.slice(0, 200).toWellFormed()) {
    const next = encoded + encodeURIComponent(character);
    if (next.length > 200) break;
    encoded = next;
  }
  return encoded;
}

/** Returns the Fault of a call, and logs it if something is broken. */
function toFault(thrown: unknown, isAllowed: boolean, log: Log): Fault {
  const error = isAllowed ? thrown : new Error("The endpoint does not list this refusal.", { cause: thrown });
  const fault = error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
  // An internal Fault without a cause replays an earlier outcome, which was logged then.
  const isReplayed = error === fault && fault.cause === undefined;
  if (fault.kind === "internal" && !isReplayed) log.error("failed", { error });
  // With a reason it is an overload: the `http` event has the reason, because a flood must not cause more events than
  // calls.
  if (fault.kind === "unavailable" && fault.reason === undefined) log.warn("unavailable", { error });
  return fault;
}

/** Whether a fault is a 401 or 403 to log with its reason. Refused sign-ins are not: they have an audit event. */
const isCallerRefused = ({ kind, reason }: Fault, { access }: AnyEndpoint): boolean =>
  (kind === "unauthenticated" || kind === "forbidden") && (access === "caller" || reason !== undefined);

type AnyEndpoint = Omit<Endpoint<never>, "run">;

const isListed = (endpoint: AnyEndpoint, method: string, error: unknown): boolean =>
  !(error instanceof Fault) || canRefuse(endpoint, { method, kind: error.kind });

/**
 * Returns whether a method of an endpoint can answer with a kind of Fault, by its list of refusals or by the pipeline.
 */
export function canRefuse(
  endpoint: AnyEndpoint,
  { method, kind }: { readonly method: string; readonly kind: FaultKind },
): boolean {
  if (endpoint.refusals.includes(kind)) return true;
  switch (kind) {
    case "invalid":
    case "forbidden":
    case "internal":
    case "unavailable":
      return true;
    case "unauthenticated":
      return endpoint.access !== "open";
    case "not_found":
      return endpoint.params !== undefined;
    case "length_required":
    case "too_large":
    case "unsupported_media":
      // The body of a call that needs none is read too, to refuse what it contains (G4).
      return method !== "GET";
    default:
      return false;
  }
}

/** Throws if an endpoint does not list the status or a header of its reply. */
function requireListedReply({ answers }: AnyEndpoint, { status, headers = {}, csv, cookies = [] }: Reply): void {
  const listed = answers[status];
  if (listed === undefined) throw new Error(`The endpoint does not list the status ${status}.`);
  if (csv !== undefined && listed.csv !== true) throw new Error(`The endpoint does not list CSV for ${status}.`);
  const sent = [...Object.keys(headers), ...(cookies.length > 0 ? ["set-cookie"] : [])];
  const missing = responseHeaders.filter(name => sent.includes(name) && !listed.headers?.includes(name));
  if (missing.length > 0) throw new Error(`The endpoint does not list the headers ${missing.join(", ")} of ${status}.`);
}
