import { hostTemplate, type RouteParts, routeParts } from "./route.ts";
import type { Api } from "./surface.ts";

/** One function to register: a template with every method that leads to one endpoint. */
export interface HttpFunction<D, S> {
  readonly name: string;
  readonly template: string;
  readonly parts: readonly RouteParts[];
  readonly endpoint: Api<D, S>["endpoints"][string];
}

/**
 * The functions of a surface. Each template of an endpoint becomes a function of its own, named after the endpoint; equal
 * templates with several methods are one function.
 */
export function httpFunctions<D, S>(surface: Api<D, S>, prefix: string): readonly HttpFunction<D, S>[] {
  return Object.entries(surface.endpoints).flatMap(([name, endpoint]) => {
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
