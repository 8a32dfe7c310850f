import type { RouteParts } from "../../lib/platform/http/api.ts";

/** Returns whether a call can match both routes. The host would then choose one by function name. */
export function routesOverlap(a: RouteParts, b: RouteParts): boolean {
  if (a.method !== b.method || a.segments.length !== b.segments.length) return false;
  return a.segments.every((segment, index) => {
    const other = b.segments[index] ?? "";
    const hasParameter = [segment, other].some(each => /^\{\w+\}$/.test(each));
    return hasParameter || segment.toLowerCase() === other.toLowerCase();
  });
}
