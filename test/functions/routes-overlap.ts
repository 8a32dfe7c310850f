import type { RouteParts } from "../../lib/platform/http/api.ts";

/** Returns whether a call can match both routes. The host would then choose one by function name. */
export function routesOverlap(a: RouteParts, b: RouteParts): boolean {
  const [own, others] = [a.template.split("/"), b.template.split("/")];
  if (a.method !== b.method || own.length !== others.length) return false;
  return own.every((segment, index) => {
    const other = others[index] ?? "";
    const hasParameter = [segment, other].some(each => /^\{\w+\}$/.test(each));
    return hasParameter || segment.toLowerCase() === other.toLowerCase();
  });
}
