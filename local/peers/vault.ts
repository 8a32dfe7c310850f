import type * as z from "zod";
import { readBody } from "./control-body.ts";
import { type Peer, type PeerAnswer, type PeerCall, startPeer } from "./peer.ts";
import { openState } from "./state-file.ts";
import {
  changed,
  listed,
  newSecret,
  newVersion,
  type Secret,
  type SecretVersion,
  secretChange,
} from "./vault-secrets.ts";

export interface Vault extends Peer {
  /** Writes a new version. */
  set(name: string, value: string): void;
  /** The value of the latest version. */
  get(name: string): string | undefined;
}

const pageSize = 25;
const naming = /^[0-9a-zA-Z-]{1,127}$/;

/**
 * Starts a simulated Key Vault: the secrets part of its wire protocol, over plain HTTP. Any bearer token will do, but there
 * must be one. `secrets` are written where the vault has none of that name.
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
  const state = openState<Record<string, Secret>>(statePath, {});
  const find = (name: string): Secret | undefined => state.value[name.toLowerCase()];

  const add = (name: string, version: SecretVersion) => {
    const secret = find(name) ?? { name, versions: [] };
    secret.versions.push(version);
    state.value[name.toLowerCase()] = secret;
    state.save();
    return version;
  };
  const set = (name: string, value: string) => {
    if (!naming.test(name)) throw new Error(`${name} cannot be the name of a secret`);
    add(name, newVersion({ value }));
  };

  const peer = await startPeer("vault", {
    ...(port === undefined ? {} : { port }),
    handle: call => {
      if (!/^Bearer ./.test(call.headers.authorization ?? "")) return challenge;
      if (!call.query.has("api-version")) return refused(400, "BadParameter", "api-version is missing");
      const [, collection, name = "", version = "", more] = call.path.replace(/\/$/, "").split("/");
      if (collection !== "secrets" || more !== undefined) return undefined;
      if (name === "") return call.method === "GET" ? list(call) : undefined;
      if (!naming.test(name)) return refused(400, "BadParameter", `${name} cannot be the name of a secret`);
      switch (`${call.method} ${version === "" ? "secret" : version === "versions" ? "versions" : "version"}`) {
        case "PUT secret":
          return withBody(newSecret, call.body, input => shown(name, add(name, newVersion(input))));
        case "GET secret":
        case "GET version":
          return withVersion(name, version, found =>
            found.enabled ? shown(name, found) : refused(403, "Forbidden", "The secret is disabled", "SecretDisabled"),
          );
        case "PATCH secret":
        case "PATCH version":
          return withVersion(name, version, found =>
            withBody(secretChange, call.body, change => {
              changed(found, change);
              state.save();
              return { status: 200, body: listed(idOf(name, found.version), found) };
            }),
          );
        case "GET versions":
          return page(call, find(name)?.versions.map(found => listed(idOf(name, found.version), found)) ?? []);
        case "DELETE secret":
          return withVersion(name, "", found => {
            delete state.value[name.toLowerCase()];
            state.save();
            return { status: 200, body: listed(idOf(name, found.version), found) };
          });
        default:
          return undefined;
      }
    },
  });

  // The client follows https addresses only, also where it reaches the vault over http.
  const address = peer.url.replace("http:", "https:");
  const idOf = (name: string, version?: string) =>
    [address, "secrets", name, ...(version === undefined ? [] : [version])].join("/");

  const shown = (name: string, version: SecretVersion): PeerAnswer => ({
    status: 200,
    body: { value: version.value, ...listed(idOf(name, version.version), version) },
  });

  /** An empty `version` is the latest. */
  const withVersion = (name: string, version: string, act: (found: SecretVersion) => PeerAnswer) => {
    const versions = find(name)?.versions ?? [];
    const found = version === "" ? versions.at(-1) : versions.find(known => known.version === version);
    return found === undefined
      ? refused(404, "SecretNotFound", `A secret with (name/id) ${name} was not found in this key vault.`)
      : act(found);
  };

  const list = (call: PeerCall) =>
    page(
      call,
      Object.values(state.value).flatMap(({ name, versions }) => {
        const latest = versions.at(-1);
        return latest === undefined ? [] : [listed(idOf(name), latest)];
      }),
    );

  const page = ({ query, path }: PeerCall, all: readonly unknown[]): PeerAnswer => {
    const size = Number(query.get("maxresults") ?? pageSize);
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

  for (const [name, value] of Object.entries(secrets)) if (find(name) === undefined) set(name, value);
  return { ...peer, set, get: name => find(name)?.versions.at(-1)?.value };
}

const withBody = <S extends z.ZodType>(schema: S, body: Buffer, act: (input: z.output<S>) => PeerAnswer) => {
  const reading = readBody(schema, body);
  return reading.ok ? act(reading.input) : refused(400, "BadParameter", reading.error);
};

const refused = (status: number, code: string, message: string, inner?: string): PeerAnswer => ({
  status,
  body: { error: { code, message, ...(inner === undefined ? {} : { innererror: { code: inner } }) } },
});

const challenge: PeerAnswer = {
  ...refused(401, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token."),
  headers: {
    "www-authenticate":
      'Bearer authorization="https://login.microsoftonline.com/common", resource="https://vault.azure.net"',
  },
};
