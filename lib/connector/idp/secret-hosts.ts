import type { Problem } from "../../fault.ts";

/** The vendors' own hosts, which get the secrets of IdPs unless `IDP_SECRET_HOSTS` names others. */
export const vendorHosts: readonly string[] = [
  ...["com", "eu", "ca", "asia", "com.au", "sg"].flatMap(region => [`auth.pingone.${region}`, `api.pingone.${region}`]),
  "login.microsoftonline.com",
  "graph.microsoft.com",
  "login.microsoftonline.us",
  "graph.microsoft.us",
  "dod-graph.microsoft.us",
  "login.partner.microsoftonline.cn",
  "login.chinacloudapi.cn",
  "microsoftgraph.chinacloudapi.cn",
  "*.forgeblocks.com",
];

/** Settings of an IdP that are addresses. A client secret, an assertion or an access token goes to each of them. */
const addressKeys = ["graph-endpoint", "online-endpoint", "api-base-url", "auth-base-url"];

/**
 * Whether an entry names a host: as a URL writes it, in lower case, with a port other than 443. `*.` before a domain of at least two
 * labels stands for one label.
 */
export function isHostEntry(entry: string): boolean {
  const host = entry.replace(/^\*\./, "");
  const isNamed = URL.parse(`https://${host}`)?.host === host && !host.includes("*");
  return isNamed && (host === entry || host.includes("."));
}

/** The entries that count in Azure, where nothing that may get a secret is on the same machine. */
export const withoutLoopback = (entries: readonly string[]): readonly string[] =>
  entries.filter(entry => !/^(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?$/.test(entry));

/** Whether a secret may be sent to an address: its host, port included, is one of the entries. */
export function isSecretHost(address: string, entries: readonly string[]): boolean {
  const host = URL.parse(address)?.host ?? "";
  return entries.includes(host) || entries.includes(host.replace(/^[^.]+(?=\.)/, "*"));
}

/** The addresses of one IdP that must not get its secret, by the names of its settings. */
export const secretHostProblems = (
  settings: Readonly<Record<string, unknown>>,
  entries: readonly string[],
): readonly Problem[] =>
  addressKeys.flatMap(key => {
    // The token of a managed identity comes from the platform, and goes to Graph alone.
    if (key === "online-endpoint" && settings["managed-identity"] === true) return [];
    const address = settings[key];
    if (typeof address !== "string" || isSecretHost(address, entries)) return [];
    return [{ path: key, reason: "must be on a host that IDP_SECRET_HOSTS names: the IdP's secrets are sent there" }];
  });

/** Returns a `fetch` that rejects every call to a host that is not among the entries, before anything is sent. */
export function fetchFromSecretHosts(fetch: typeof globalThis.fetch, entries: readonly string[]): typeof fetch {
  return async (input, init) => {
    if (!isSecretHost(input instanceof Request ? input.url : String(input), entries)) throw new SecretHostError();
    return fetch(input, init);
  };
}

class SecretHostError extends Error {
  override readonly name = "SecretHostError";
  /** As the system's own errors before a connection is made: nothing was sent. */
  readonly syscall = "connect";
  constructor() {
    super("The host is not among IDP_SECRET_HOSTS.");
  }
}
