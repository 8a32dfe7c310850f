import type { Api } from "./api.ts";
import type { Route } from "./endpoint.ts";

export interface RouteParts {
  readonly method: string;
  readonly segments: readonly string[];
}

const segmentsOf = (path: string): string[] => path.split("/").filter(segment => segment !== "");

/** Parses a route. @param prefix path prefix of the API, may be empty */
export function routeParts(route: Route, prefix: string): RouteParts {
  const [method = "", path = ""] = route.split(" ");
  return { method, segments: [...segmentsOf(prefix), ...segmentsOf(path)] };
}

/** Returns the template in the host's notation, without a leading slash: with one, the host would not start. */
export const hostTemplate = (parts: RouteParts): string => parts.segments.join("/");

/** A function to register with the host: one route template with all its methods. */
interface HttpFunction<D, S> {
  readonly name: string;
  readonly template: string;
  readonly parts: readonly RouteParts[];
  readonly endpoint: Api<D, S>["endpoints"][string];
}

/**
 * Returns the functions of an API: one for each route template of an endpoint, named after the endpoint. Routes that
 * differ only in the method share a function.
 */
export function httpFunctions<D, S>(api: Api<D, S>, prefix: string): readonly HttpFunction<D, S>[] {
  return Object.entries(api.endpoints).flatMap(([name, endpoint]) => {
    const byTemplate = Map.groupBy(
      endpoint.routes.map(route => routeParts(route, prefix)),
      parts => hostTemplate(parts),
    );
    return [...byTemplate].map(([template, parts], index) => ({
      name: index === 0 ? name : `${name}${index + 1}`,
      template,
      parts,
      endpoint,
    }));
  });
}
