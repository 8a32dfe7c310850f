import { lookup as resolveName } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Fetch } from "../../../lib/platform/call-peer.ts";
import { isHttpOnLoopback } from "../../../lib/platform/settings/setting.ts";

/**
 * Returns a `fetch` for calls with a text as body, to public addresses only. It checks the address that a name resolves
 * to within the same connection, so that a name which resolves differently the next time does not evade the check. It
 * does not follow redirects. Its responses have no body.
 * @param allowsPrivate whether private addresses may be called too. Link-local addresses, such as the one where the
 * platform issues credentials, are refused in any case
 */
export function fetchFromPublicAddresses(allowsPrivate: boolean): Fetch {
  return async (input, { method, headers, body, signal } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { protocol, hostname } = url;
    const isLocal = isHttpOnLoopback(url.href);
    const isAllowed = (address: string) => isLocal || !isRefused(address, allowsPrivate);
    const literal = hostname.replace(/^\[|\]$/g, "");
    if (isIP(literal) !== 0 && !isAllowed(literal))
      throw new TypeError("The event sink was not called.", { cause: refused() });
    const text = String(body ?? "");
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const request = (protocol === "https:" ? requestHttps : requestHttp)(url, {
      ...(method !== undefined && { method }),
      headers: { ...Object.fromEntries(new Headers(headers)), "content-length": Buffer.byteLength(text) },
      agent: false,
      lookup: lookupAllowed(isAllowed),
      ...(signal && { signal }),
    });
    // In the form in which `fetch` fails.
    request.once("error", cause => reject(new TypeError("The event sink was not called.", { cause })));
    // An answer such as 101 closes the connection without an error and without a response.
    request.once("close", () => reject(new Error("The event sink closed the connection without a response.")));
    request.once("response", response => {
      // The body of the response is not needed, and may be endless.
      response.destroy();
      // `headers` has only the first of several.
      const retryAfter = response.headersDistinct["retry-after"]?.join(", ");
      const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
      try {
        resolve(new Response(null, { status: response.statusCode ?? 0, headers }));
      } catch (error) {
        reject(error);
      }
    });
    request.end(text);
    try {
      return await promise;
    } finally {
      // An error of the connection after the response is ignored.
      request.on("error", () => {});
    }
  };
}

/** Returns a look-up function that finds allowed addresses only. */
const lookupAllowed =
  (isAllowed: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) =>
    resolveName(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) callback(refused(), []);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });

/** Returns the error for a refused address. It has the form of a failed connect, because no call was made. */
const refused = (): NodeJS.ErrnoException =>
  Object.assign(new Error("The address of the event sink is private (EVENT_SINK_ALLOW_PRIVATE)."), {
    code: "EACCES",
    syscall: "connect",
  });

const listOf = (...subnets: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", prefix] = subnet.split("/");
    list.addSubnet(network, Number(prefix), network.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
};

/** Private networks, which a deployment may allow (RFC 1918, RFC 6598, RFC 4193), and the loopback. */
const privateNetworks = listOf(
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "::1/128",
  "fc00::/7",
);

/** Other addresses that are not public (RFC 6890), such as link-local, documentation, multicast and reserved ones. */
const specialNetworks = listOf(
  "0.0.0.0/8",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  "168.63.129.16/32",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
);

/** The public addresses of IPv6. All others are not assigned to hosts, or contain an IPv4 address. */
const globalIpv6 = listOf("2000::/3");

function isRefused(address: string, allowsPrivate: boolean): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  const isIn = (list: BlockList) => list.check(address, family);
  if (isIn(specialNetworks)) return true;
  if (isIn(privateNetworks)) return !allowsPrivate;
  return family === "ipv6" && !isIn(globalIpv6);
}
