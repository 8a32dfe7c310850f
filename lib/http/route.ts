/** `METHOD /path/{parameter}`, relative to the surface's leading segment (decision G2). */
export type Route = `${"GET" | "POST" | "DELETE"} /${string}`;

export interface RouteParts {
  readonly method: string;
  readonly segments: readonly string[];
}

const segmentsOf = (path: string): string[] => path.split("/").filter(segment => segment !== "");
const parameterName = (segment: string): string | undefined => /^\{(\w+)\}$/.exec(segment)?.[1];

/** @param prefix the surface's leading segments, may be empty */
export function routeParts(route: Route, prefix: string): RouteParts {
  const [method = "", path = ""] = route.split(" ");
  return { method, segments: [...segmentsOf(prefix), ...segmentsOf(path)] };
}

/** The template in the host's own notation: no leading slash, which would take the whole app down. */
export const hostTemplate = (parts: RouteParts): string => parts.segments.join("/");

/** Whether some path and method matches both: the host would then choose by function name (decision G2). */
export function overlaps(a: RouteParts, b: RouteParts): boolean {
  if (a.method !== b.method || a.segments.length !== b.segments.length) return false;
  return a.segments.every((segment, index) => {
    const other = b.segments[index] ?? "";
    const free = parameterName(segment) !== undefined || parameterName(other) !== undefined;
    return free || segment.toLowerCase() === other.toLowerCase();
  });
}
