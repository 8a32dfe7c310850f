import { isSameText } from "../crypto.ts";
import { Fault } from "../fault.ts";
import type { Call } from "./call.ts";

/**
 * Returns the caller's address: the `X-Forwarded-For` entry that the first trusted proxy wrote, counted from the end.
 * If a caller bypassed a proxy and there are fewer entries, returns the first entry, so that bypassing does not hide
 * the address. Returns undefined if there is no entry or no trusted proxy: a caller could write any address itself
 * (G7). Azure's front end writes the port too, which is left out: with it each connection would be another caller in
 * logs.
 */
export function callerAddress({ headers }: Call, trustedProxies: number): string | undefined {
  if (trustedProxies === 0) return undefined;
  const entries = (headers.get("x-forwarded-for") ?? "").split(",");
  const entry = (entries.at(-trustedProxies) ?? entries[0] ?? "").trim();
  const [, ipv6, ipv4] = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(entry) ?? [];
  return (ipv6 ?? ipv4 ?? entry) || undefined;
}

/** A secret header value that the deployment's proxy adds to every call. Callers that bypass it do not know it (G7). */
export interface ProxyProof {
  readonly header: string;
  readonly id: string;
}

/** Returns whether a call came through the deployment's proxy. Always true if no proof is configured. */
export const cameThroughProxy = ({ headers }: Call, proof: ProxyProof | undefined): boolean =>
  proof === undefined || isSameText(headers.get(proof.header) ?? "", proof.id);

/** Returns the Fault of a call that did not come through the deployment's proxy. */
export const notThroughProxy = (): Fault =>
  new Fault("forbidden", "Call this service through its public address.", { reason: "not_through_proxy" });

/** The header in which Azure's front end sends the request target exactly as it received it. */
const exactTargetHeader = "x-waws-unencoded-url";
/** Headers in which proxies send the original request target. */
const originalTargetHeaders = ["x-original-url", exactTargetHeader];

/**
 * Throws Fault `invalid` if the original path has `.` or `..` as a segment, or if a path parameter differs from every
 * segment of the path as it was sent, decoded once. The second check needs `X-WAWS-Unencoded-URL`. The host resolves
 * dot segments before it routes, so a `DELETE` of `users/bob/attributes/..` would delete `users/bob`. Azure's front end
 * decodes the path before the host does, so a `DELETE` of `users/bo%2562` would delete `bob` in place of `bo%62`, and
 * `users/bob%2Fattributes%2Fx` would be an attribute of `bob`. A caller that sends these headers itself can only get
 * its own call refused.
 */
export function checkOriginalPath({ headers, params }: Pick<Call, "headers" | "params">): void {
  for (const name of originalTargetHeaders) {
    const path = originalPath(headers.get(name));
    if (path === undefined) continue;
    const decoded = path.replace(/%2e/gi, ".").replace(/%2f|%5c|\\/gi, "/");
    if (decoded.split("/").some(segment => segment === "." || segment === "..")) {
      throw new Fault("invalid", "The path must not have . or .. as a segment.");
    }
  }
  const exact = originalPath(headers.get(exactTargetHeader));
  if (exact === undefined) return;
  const segments = exact.split("/").map(decodeOnce);
  // Azure makes two segments of one that contains a slash.
  const isSplit = segments.some(segment => /[/\\]/.test(segment));
  if (isSplit || Object.values(params).some(value => !segments.includes(value))) {
    const unsafe = "%2F, %5C, or %25 before two hexadecimal digits";
    throw new Fault("invalid", `The path must not contain ${unsafe}: Azure would change the path.`);
  }
}

/** Returns the path of a request target, which can be a URL. */
const originalPath = (target: string | null): string | undefined =>
  target?.replace(/^[a-z]+:\/\/[^/]*/i, "").split(/[?#]/)[0];

const decodeOnce = (segment: string): string =>
  segment.replace(/(?:%[0-9a-f]{2})+/gi, escapes => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
