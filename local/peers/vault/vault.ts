import { type HttpAnswer, type HttpCall, type PeerPlace, startPeer } from "../peer.ts";
import { readBody } from "../read-body.ts";
import { PeerRefusal } from "../refusal.ts";
import { isSecretName, newSecret, openStoredSecrets, type SecretVersion, secretChange } from "./stored-secrets.ts";

export type Vault = Awaited<ReturnType<typeof startVault>>;

const pageSize = 25;

/**
 * Starts a simulated Key Vault over plain HTTP: the calls for one secret and its versions of its wire protocol. It requires a
 * bearer token and accepts any. Writes each of `secrets` unless the vault has a secret of that name.
 */
export async function startVault({
  port,
  statePath,
  secrets = {},
}: PeerPlace & { secrets?: Readonly<Record<string, string>> } = {}) {
  const { versionsOf, change, add, set, get, enabled, tags } = openStoredSecrets(statePath);

  const handle = (call: HttpCall): HttpAnswer | undefined => {
    if (!/^Bearer ./.test(call.headers.authorization ?? "")) return challenge;
    if (!call.query.has("api-version")) throw badParameter("api-version is missing");
    const [, collection, name = "", version = "", more] = call.path.replace(/\/$/, "").split("/");
    if (collection !== "secrets" || name === "" || more !== undefined) return undefined;
    if (!isSecretName(name)) throw badParameter(`${name} cannot be the name of a secret`);
    if (call.method === "GET" && version === "versions") return page(call, name);
    switch (call.method) {
      case "PUT":
        return version === "" ? shown(name, add(name, readBody(newSecret, call.body, badParameter))) : undefined;
      case "GET": {
        const found = find(name, version);
        if (!found.enabled) throw refused(403, "Forbidden", "The secret is disabled", "SecretDisabled");
        return shown(name, found);
      }
      case "PATCH": {
        const found = find(name, version);
        change(found, readBody(secretChange, call.body, badParameter));
        return { status: 200, body: listed(name, found) };
      }
      default:
        return undefined;
    }
  };
  const peer = await startPeer("vault", { port, handle });

  /** Returns a version; the latest one if `version` is empty. */
  const find = (name: string, version: string): SecretVersion => {
    const versions = versionsOf(name);
    const found = version === "" ? versions.at(-1) : versions.find(known => known.version === version);
    if (found !== undefined) return found;
    throw refused(404, "SecretNotFound", `A secret with (name/id) ${name} was not found in this key vault.`);
  };

  // The client accepts https addresses only, also if it calls the vault over http.
  const address = peer.url.replace("http:", "https:");

  /** Returns a version as in lists, without its value. */
  const listed = (name: string, secret: SecretVersion) => {
    const { version, created, updated, enabled, exp, tags } = secret;
    const attributes = { enabled, exp, created, updated, recoveryLevel: "Recoverable", recoverableDays: 90 };
    return { id: `${address}/secrets/${name}/${version}`, attributes, tags };
  };
  const shown = (name: string, version: SecretVersion): HttpAnswer => ({
    status: 200,
    body: { value: version.value, ...listed(name, version) },
  });

  const page = ({ query, path }: HttpCall, name: string): HttpAnswer => {
    const all = versionsOf(name);
    const size = Number(query.get("maxresults") ?? pageSize);
    if (!(size >= 1 && size <= pageSize)) throw badParameter(`maxresults must be 1 to ${pageSize}`);
    const from = Number(query.get("$skiptoken") ?? 0);
    const next = new URLSearchParams({ "api-version": query.get("api-version") ?? "", $skiptoken: `${from + size}` });
    return {
      status: 200,
      body: {
        value: all.slice(from, from + size).map(version => listed(name, version)),
        nextLink: from + size < all.length ? `${address}${path}?${next}` : null,
      },
    };
  };

  for (const [name, value] of Object.entries(secrets)) if (get(name) === undefined) set(name, value);
  return { ...peer, set, get, enabled, tags };
}

const refused = (status: number, code: string, message: string, inner?: string): PeerRefusal =>
  new PeerRefusal(message, {
    status,
    body: { error: { code, message, ...(inner === undefined ? {} : { innererror: { code: inner } }) } },
  });

const badParameter = (reason: string) => refused(400, "BadParameter", reason);

const challenge: HttpAnswer = {
  ...refused(401, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.").answer,
  headers: {
    "www-authenticate":
      'Bearer authorization="https://login.microsoftonline.com/common", resource="https://vault.azure.net"',
  },
};
