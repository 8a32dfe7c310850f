import type { Fault } from "../fault.ts";
import type { Call, Reply } from "./call.ts";
import type { Access, Endpoint, Identity, Route } from "./endpoint.ts";

/** A group of endpoints that share input style, authentication and error body (G1). */
export interface Api<D, S = unknown> {
  readonly name: "core" | "client" | "connector";
  readonly title: string;
  readonly endpoints: Readonly<Record<string, Endpoint<D, S>>>;
  /** Input style: JSON bodies, or fields of query, form or a flat JSON object. */
  readonly input: "json" | "fields";
  /**
   * Whether calls ignore unknown fields, in the style of fields; by default those that are no GET are refused (G4). In the
   * style of JSON each endpoint says so.
   */
  readonly ignoresUnknown?: boolean;
  /** Maximum body size. */
  readonly bodyLimitBytes: number;
  /** Checks a call before anything else, such as its origin. Returns headers for the response or throws Fault. */
  readonly guard?: (call: Call, deps: D) => Readonly<Record<string, string>>;
  /** Returns the error response for a Fault. */
  refuse(fault: Fault): Reply;
}

/**
 * Authenticates a call as the access requires, and adds log fields that name the caller. Throws Fault `unauthenticated`
 * or `forbidden`.
 */
export type Identify<S = unknown> = (access: Access, call: Call) => Promise<Identity<S>>;

export interface RouteParts {
  readonly method: string;
  /** In the host's notation, without a leading slash: with one, the host would not start. */
  readonly template: string;
}

/** Parses a route. @param prefix path prefix of the API, may be empty */
export function routeParts(route: Route, prefix: string): RouteParts {
  const [method = "", path = ""] = route.split(" ");
  const segments = [...prefix.split("/"), ...path.split("/")].filter(segment => segment !== "");
  return { method, template: segments.join("/") };
}

/** A function to register with the host: one route template with all its methods. */
interface HttpFunction<D, S> {
  readonly name: string;
  readonly template: string;
  readonly methods: readonly string[];
  readonly endpoint: Endpoint<D, S>;
}

/**
 * Returns the functions of an API: one for each route template of an endpoint, named after the endpoint. Routes that
 * differ only in the method share a function.
 */
export const httpFunctions = <D, S>(api: Api<D, S>, prefix: string): readonly HttpFunction<D, S>[] =>
  Object.entries(api.endpoints).flatMap(([name, endpoint]) => {
    const routes = endpoint.routes.map(route => routeParts(route, prefix));
    return [...Map.groupBy(routes, ({ template }) => template)].map(([template, own], index) => ({
      name: index === 0 ? name : `${name}${index + 1}`,
      template,
      methods: own.map(({ method }) => method),
      endpoint,
    }));
  });
