import type { Api } from "./api.ts";
import { hostTemplate, type RouteParts, routeParts } from "./route.ts";

/** A function to register with the host: one route template with all its methods. */
interface HttpFunction<D, S> {
  readonly name: string;
  readonly template: string;
  readonly parts: readonly RouteParts[];
  readonly endpoint: Api<D, S>["endpoints"][string];
}

/**
 * Returns the functions of an API: one for each route template of an endpoint, named after the endpoint. Routes that differ only in
 * the method share a function.
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
