import type { Problem } from "../../platform/fault.ts";
import { type IdpSettings, idpKinds, kindOf } from "./kinds.ts";

// A secret host is a host to which the secrets of an IdP may be sent.

/** The vendors' own hosts, the default of `IDP_SECRET_HOSTS`. */
export const vendorHosts: readonly string[] = idpKinds.flatMap(kind => kind.vendorHosts);

/**
 * Returns whether an entry is a host as a URL writes it: in lower case, with a port other than 443. `*.` before a
 * domain of at least two labels is a wildcard for one label.
 */
export function isHostEntry(entry: string): boolean {
  const host = entry.replace(/^\*\./, "");
  const isNamed = URL.parse(`https://${host}`)?.host === host && !host.includes("*");
  return isNamed && (host === entry || host.includes("."));
}

/** Returns the entries without the loopback. In Azure, no IdP is on the same machine. */
export const withoutLoopback = (entries: readonly string[]): readonly string[] =>
  entries.filter(entry => !/^(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?$/.test(entry));

/** Returns whether the host of an address, including its port, is one of the entries. */
export function isSecretHost(address: string, entries: readonly string[]): boolean {
  const host = URL.parse(address)?.host ?? "";
  return entries.includes(host) || entries.includes(host.replace(/^[^.]+(?=\.)/, "*"));
}

/** Returns a problem for each address of an IdP to which its secrets must not be sent. The path is the key. */
export function secretHostProblems(settings: IdpSettings, entries: readonly string[]): readonly Problem[] {
  const values: Readonly<Record<string, unknown>> = settings;
  return kindOf(settings)
    .secretAddresses(settings)
    .filter(key => !isSecretHost(String(values[key]), entries))
    .map(path => ({ path, reason: "must be on a host that IDP_SECRET_HOSTS names: the IdP's secrets are sent there" }));
}

/** Returns a `fetch` that rejects every call to a host that is not among the entries, before anything is sent. */
export function fetchFromSecretHosts(fetch: typeof globalThis.fetch, entries: readonly string[]): typeof fetch {
  return async (input, init) => {
    if (!isSecretHost(input instanceof Request ? input.url : String(input), entries)) throw new SecretHostError();
    return fetch(input, init);
  };
}

class SecretHostError extends Error {
  override readonly name = "SecretHostError";
  /** As in the system's own errors before a connection exists, so that the call counts as `unreachable`. */
  readonly syscall = "connect";
  constructor() {
    super("The host is not among IDP_SECRET_HOSTS.");
  }
}
