import { type ApiToken, apiToken, type Caller, type RoleApi } from "../caller.ts";
import { hashOf, isSameText, type KeyRing, keyedHash } from "../crypto.ts";
import { Fault } from "../fault.ts";
import { badToken } from "../http/bearer.ts";
import { between, days, hours, type Instant, isRecent } from "../time.ts";
import { type CacheOptions, cachedSecret } from "./cached-secrets.ts";
import type { Secrets, SecretVersion } from "./secrets.ts";

export type ApiTokens = ReturnType<typeof apiTokens>;

const tokenForm = /^(core|connector)_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** Number of characters of a token's MAC: 8 bytes in base64url. */
const macLength = 11;

/** Maximum number of tokens of one API that are not revoked, expired ones included. */
const maxTokens = 100;

/** While Key Vault is unavailable, a revoked token is accepted for at most this time. */
const maxStaleMs = hours(1);

/**
 * The static tokens of an API (G3). They are versions of one secret. Key Vault has no conditional writes, so with a
 * list in one value a create could undo a revocation. Here a create adds a version and a revocation disables that
 * version forever, so neither overwrites the other. The hash is in the version's tags, because lists contain tags but
 * no values.
 */
export function apiTokens(
  api: RoleApi,
  deps: {
    readonly secrets: Secrets;
    readonly caching: CacheOptions;
    /** The service's key-encryption key, from which the key of the tokens' MACs is derived. */
    readonly dataKeyRing: KeyRing;
    readonly random: (bytes: number) => Uint8Array;
  },
) {
  const { secrets, caching, dataKeyRing, random } = deps;
  const { now } = caching;
  const name = `${api}-api-tokens`;
  const list = async () => unrevokedTokens(await secrets.versions(name));
  const warn = createExpiryWarning(api, caching);
  const cached = cachedSecret(
    name,
    async () => {
      const tokens = await list();
      warn(tokens);
      return tokens;
    },
    { ...caching, maxStaleMs },
  );
  const recordUse = createUseRecorder(name, secrets, caching);

  const hash = keyedHash(dataKeyRing, "MACs of API tokens");
  /**
   * Returns a token with its MAC, by which every host knows that the service created it. So a token that is too new for
   * a host's cache is looked up at once, and a token that this service did not create never is.
   */
  const withMac = async (start: string) => start + (await hash(start)).subarray(0, 8).toString("base64url");

  const lookUps = new Map<string, { readonly at: Instant; readonly tokens: Promise<readonly ApiToken[]> }>();
  /** Reads the tokens again, unless a read for this token began within `refreshAfterMs`; then returns its result. */
  const lookUp = (id: string) => {
    const last = lookUps.get(id);
    if (last !== undefined && isRecent(last.at, caching.refreshAfterMs, now())) return last.tokens;
    const tokens = cached.refresh().then(read => read ?? []);
    lookUps.set(id, { at: now(), tokens });
    return tokens;
  };

  return {
    /** Returns the caller. Throws Fault `unauthenticated`, or `forbidden` for a token of another API. */
    async check(token: string): Promise<Caller> {
      const [, service, id = ""] = tokenForm.exec(token) ?? [];
      if (service === undefined) throw badToken("malformed");
      if (service !== api) throw new Fault("forbidden", "The token belongs to another API.", { reason: "other_api" });
      const sha256 = hashOf(token);
      const find = (tokens: readonly ApiToken[] = []) =>
        tokens.find(known => known.id === id && isSameText(known.sha256, sha256));
      const hasMac = async () => isSameText(await withMac(token.slice(0, -macLength)), token);
      const found = find(await cached.get()) ?? ((await hasMac()) ? find(await lookUp(id)) : undefined);
      if (found === undefined) throw badToken("unknown_api_token");
      const caller: Caller = { kind: "api_token", application: id, ...(found.role && { roles: [found.role] }) };
      if (found.expiresAt !== undefined && now() >= found.expiresAt) throw badToken("expired", { caller });
      recordUse(found);
      return caller;
    },
    /** Reads the tokens that are not revoked from Key Vault. */
    list,
    /** Creates a token, which cannot be shown again. Throws Fault `conflict` if the API has the maximum number. */
    async create(tokenName: string, limits: Pick<ApiToken, "expiresAt" | "role"> = {}) {
      const id = Buffer.from(random(4)).toString("hex");
      const token = await withMac(`${api}_${id}_${Buffer.from(random(24)).toString("base64url")}`);
      if ((await list()).length >= maxTokens)
        throw new Fault("conflict", `There are already ${maxTokens} API tokens. Revoke one that is no longer used.`);
      const stored: ApiToken = { id, name: tokenName, sha256: hashOf(token), createdAt: now(), ...limits };
      await secrets.set(name, id, { tags: { ...stored } });
      return { token, stored };
    },
    /** Revokes a token permanently. Hosts refuse it after their next read. Throws Fault `not_found`. */
    async revoke(id: string): Promise<void> {
      const versions = await secrets.versions(name);
      if (!unrevokedTokens(versions).some(token => token.id === id))
        throw new Fault("not_found", "There is no API token with this id.");
      const enabled = versions.filter(version => version.enabled && tokenOf(version)?.id === id);
      await Promise.all(enabled.map(({ version }) => secrets.disable(name, version)));
    },
  };
}

const warnBeforeMs = days(14);

/**
 * Returns a function that logs tokens which expire within two weeks, each at most once a day, until they have expired.
 */
function createExpiryWarning(api: string, { now, log }: CacheOptions): (tokens: readonly ApiToken[]) => void {
  const warnedAt = new Map<string, Instant>();
  return tokens => {
    const time = now();
    for (const { id, expiresAt } of tokens) {
      if (expiresAt === undefined || expiresAt <= time || between(time, expiresAt) > warnBeforeMs) continue;
      if (isRecent(warnedAt.get(id), days(1), time)) continue;
      warnedAt.set(id, time);
      log.warn("api_token_expires", { api, id, expiresAt });
    }
  };
}

/** Minimum time between two attempts of this process to record the use of a token on one day. */
const minRecordIntervalMs = hours(1);

/**
 * Returns a function that records the day of a token's last use in the tags of its version, without delaying or failing
 * the call. Reads the tags again before it writes them, so that of many hosts usually one writes on a day. Hosts that
 * write at the same time write the same day. A version that is revoked meanwhile stays disabled.
 */
function createUseRecorder(name: string, secrets: Secrets, { now, log }: CacheOptions): (token: ApiToken) => void {
  const tried = new Map<string, Instant>();
  const record = async (id: string, day: string) => {
    for (const version of await secrets.versions(name)) {
      const token = tokenOf(version);
      if (token?.id !== id || (token.lastUsedOn ?? "") >= day) continue;
      await secrets.setTags(name, version.version, { ...version.tags, lastUsedOn: day });
    }
  };
  return ({ id, lastUsedOn = "" }) => {
    const time = now();
    const day = time.slice(0, 10);
    const last = tried.get(id);
    if (lastUsedOn >= day || (last?.startsWith(day) && isRecent(last, minRecordIntervalMs, time))) return;
    tried.set(id, time);
    record(id, day).catch((error: unknown) => log.warn("api_token_use_unrecorded", { secret: name, id, error }));
  };
}

/**
 * Returns the tokens that are not revoked. A repeated create may have stored a second version of a token after the
 * first was disabled, so one disabled version revokes the token.
 */
function unrevokedTokens(versions: readonly SecretVersion[]): readonly ApiToken[] {
  const tokens = new Map<string, ApiToken>();
  for (const version of versions) {
    const token = tokenOf(version);
    if (token === undefined) continue;
    const { lastUsedOn = "" } = tokens.get(token.id) ?? {};
    tokens.set(token.id, lastUsedOn > (token.lastUsedOn ?? "") ? { ...token, lastUsedOn } : token);
  }
  for (const version of versions) if (!version.enabled) tokens.delete(tokenOf(version)?.id ?? "");
  return [...tokens.values()].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/**
 * Returns the token in a version's tags; undefined for a version that is not a token, such as the first one, which the
 * template creates.
 */
const tokenOf = ({ tags }: SecretVersion): ApiToken | undefined => apiToken.safeParse(tags).data;
