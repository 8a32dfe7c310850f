import type * as z from "zod";
import { readBody } from "../control-body.ts";
import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../peer.ts";
import { deletion, listed, newSecret, newVersion, type Secret, type SecretVersion, secretChange } from "./secrets.ts";
import { isSecretName, openStoredSecrets, type StoredSecrets } from "./stored-secrets.ts";

export type Vault = Peer & Pick<StoredSecrets, "set" | "get" | "enabled" | "tags">;

const pageSize = 25;

/**
 * Starts a simulated Key Vault with the secrets part of its wire protocol, over plain HTTP. It requires a bearer token and
 * accepts any. Writes each of `secrets` unless the vault has a secret of that name.
 */
export async function startVault({
  port,
  statePath,
  secrets = {},
}: {
  port?: number;
  statePath?: string;
  secrets?: Readonly<Record<string, string>>;
} = {}): Promise<Vault> {
  const stored = openStoredSecrets(statePath);
  const { find, findDeleted } = stored;

  const peer = await startPeer("vault", {
    ...(port === undefined ? {} : { port }),
    handle: call => {
      if (!/^Bearer ./.test(call.headers.authorization ?? "")) return challenge;
      if (!call.query.has("api-version")) return refused(400, "BadParameter", "api-version is missing");
      const [, collection, name = "", version = "", more] = call.path.replace(/\/$/, "").split("/");
      if (more !== undefined) return undefined;
      if (collection === "deletedsecrets") return ofDeleted(call, name, version);
      if (collection !== "secrets") return undefined;
      if (name === "") return call.method === "GET" ? list(call) : undefined;
      if (!isSecretName(name)) return refused(400, "BadParameter", `${name} cannot be the name of a secret`);
      switch (`${call.method} ${version === "" ? "secret" : version === "versions" ? "versions" : "version"}`) {
        case "PUT secret":
          if (findDeleted(name) !== undefined) return stillRecoverable(name);
          return withBody(newSecret, call.body, input => shown(name, stored.add(name, newVersion(input))));
        case "GET secret":
        case "GET version":
          return withVersion(name, version, found =>
            found.enabled ? shown(name, found) : refused(403, "Forbidden", "The secret is disabled", "SecretDisabled"),
          );
        case "PATCH secret":
        case "PATCH version":
          return withVersion(name, version, found =>
            withBody(secretChange, call.body, change => {
              stored.change(found, change);
              return { status: 200, body: listed(idOf(name, found.version), found) };
            }),
          );
        case "GET versions":
          return page(call, find(name)?.versions.map(found => listed(idOf(name, found.version), found)) ?? []);
        case "DELETE secret":
          return withVersion(name, "", () => {
            stored.remove(name);
            return shownDeleted(name);
          });
        default:
          return undefined;
      }
    },
  });

  // The client accepts https addresses only, also if it calls the vault over http.
  const address = peer.url.replace("http:", "https:");
  const idOf = (name: string, version?: string) =>
    [address, "secrets", name, ...(version === undefined ? [] : [version])].join("/");

  const shown = (name: string, version: SecretVersion): HttpAnswer => ({
    status: 200,
    body: { value: version.value, ...listed(idOf(name, version.version), version) },
  });

  /** Returns a deleted secret as the real service shows it, without its value. */
  const deletedBody = ({ name, versions, deletedAt = 0 }: Secret) => {
    const latest = versions.at(-1);
    const recoveryId = `${address}/deletedsecrets/${name}`;
    return { ...(latest && listed(idOf(name, latest.version), latest)), ...deletion(recoveryId, deletedAt) };
  };
  const shownDeleted = (name: string): HttpAnswer => {
    const secret = findDeleted(name);
    return secret === undefined ? notFound(name) : { status: 200, body: deletedBody(secret) };
  };

  /** Handles calls about deleted secrets: list, get and recover. Purge protection forbids to purge them. */
  const ofDeleted = (call: HttpCall, name: string, action: string): HttpAnswer | undefined => {
    if (name === "") {
      if (call.method !== "GET") return undefined;
      return page(
        call,
        stored
          .names()
          .flatMap(each => findDeleted(each) ?? [])
          .map(deletedBody),
      );
    }
    const secret = findDeleted(name);
    switch (`${call.method} ${action}`) {
      case "GET ":
        return shownDeleted(name);
      case "DELETE ":
        return secret === undefined ? notFound(name) : refused(403, "Forbidden", "Purge protection is enabled.");
      case "POST recover": {
        if (secret === undefined) return notFound(name);
        stored.recover(secret);
        return withVersion(name, "", found => ({ status: 200, body: listed(idOf(name, found.version), found) }));
      }
      default:
        return undefined;
    }
  };

  /** An empty `version` is the latest. */
  const withVersion = (name: string, version: string, act: (found: SecretVersion) => HttpAnswer) => {
    const versions = find(name)?.versions ?? [];
    const found = version === "" ? versions.at(-1) : versions.find(known => known.version === version);
    return found === undefined ? notFound(name) : act(found);
  };

  const list = (call: HttpCall) =>
    page(
      call,
      stored.names().flatMap(key => {
        const { name = "", versions = [] } = find(key) ?? {};
        const latest = versions.at(-1);
        return latest === undefined ? [] : [listed(idOf(name), latest)];
      }),
    );

  const page = ({ query, path }: HttpCall, all: readonly unknown[]): HttpAnswer => {
    const size = Number(query.get("maxresults") ?? pageSize);
    if (!(size >= 1 && size <= pageSize)) return refused(400, "BadParameter", `maxresults must be 1 to ${pageSize}`);
    const from = Number(query.get("$skiptoken") ?? 0);
    const next = new URLSearchParams({ "api-version": query.get("api-version") ?? "", $skiptoken: `${from + size}` });
    return {
      status: 200,
      body: {
        value: all.slice(from, from + size),
        nextLink: from + size < all.length ? `${address}${path}?${next}` : null,
      },
    };
  };

  const { set, get, enabled, tags } = stored;
  for (const [name, value] of Object.entries(secrets)) if (find(name) === undefined) set(name, value);
  return { ...peer, set, get, enabled, tags };
}

const withBody = <S extends z.ZodType>(schema: S, body: Buffer, act: (input: z.output<S>) => HttpAnswer) => {
  const reading = readBody(schema, body);
  return reading.ok ? act(reading.input) : refused(400, "BadParameter", reading.error);
};

const notFound = (name: string): HttpAnswer =>
  refused(404, "SecretNotFound", `A secret with (name/id) ${name} was not found in this key vault.`);

const stillRecoverable = (name: string): HttpAnswer =>
  refused(
    409,
    "Conflict",
    `Secret ${name} is currently in a deleted but recoverable state, and its name cannot be reused.`,
    "ObjectIsDeletedButRecoverable",
  );

const refused = (status: number, code: string, message: string, inner?: string): HttpAnswer => ({
  status,
  body: { error: { code, message, ...(inner === undefined ? {} : { innererror: { code: inner } }) } },
});

const challenge: HttpAnswer = {
  ...refused(401, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token."),
  headers: {
    "www-authenticate":
      'Bearer authorization="https://login.microsoftonline.com/common", resource="https://vault.azure.net"',
  },
};
