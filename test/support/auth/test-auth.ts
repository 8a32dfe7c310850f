import { randomUUID } from "node:crypto";
import type { AuthContext } from "../../../functions/auth/context.ts";
import { client, core, identifySession } from "../../../functions/auth/routes.ts";
import { openAuthContext } from "../../../functions/auth/start/open-context.ts";
import { type Deployment, openDeployment } from "../../../functions/deployment.ts";
import { apiTokensOf, identifyCaller } from "../../../functions/identify-caller.ts";
import { servingOf } from "../../../functions/service.ts";
import { createKeyedHash } from "../../../lib/auth/keyed-hash.ts";
import type { PasswordHasher } from "../../../lib/auth/passwords/password-hash.ts";
import { type AuthStore, authStore } from "../../../lib/auth/store.table.ts";
import { authTables } from "../../../lib/auth/tables.table.ts";
import { nameThrottleKey } from "../../../lib/auth/users/user-access.ts";
import { keyRing } from "../../../lib/platform/azure/cached-secrets.ts";
import { openTables, type Tables } from "../../../lib/platform/azure/tables.ts";
import { type Api, httpFunctions } from "../../../lib/platform/http/api.ts";
import type { Call, Cookie } from "../../../lib/platform/http/call.ts";
import { type ServeOptions, serve } from "../../../lib/platform/http/serve.ts";
import { createLog } from "../../../lib/platform/log.ts";
import { type Instant, instant } from "../../../lib/platform/time.ts";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { parseRoute, routedPath } from "../../../local/host/http/route.ts";
import { startVault, type Vault } from "../../../local/peers/vault/vault.ts";
import { localTokens } from "../../../local/start/tokens.ts";
import type { Limits } from "../host/limits.ts";
import { atEndOfFile } from "../run/end-of-file.ts";
import { type CallCounts, createCallCounter } from "../storage/call-counter.ts";
import { type FreshStorage, freshStorage, patientLimits, storageTimeoutMs } from "../storage/fresh-storage.ts";
import { cheapHasher } from "./cheap-hashes.ts";
import type { SoftwareKey } from "./software-key.ts";

/** A response as the caller gets it. */
export interface AuthResponse {
  readonly status: number;
  readonly headers: Headers;
  /** As it comes over the wire: parsed JSON; undefined where there is none. */
  readonly body: unknown;
  readonly cookies: readonly Cookie[];
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a form by POST, in the query by other methods. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Sent as it is; JSON unless the headers say otherwise. */
  readonly body?: string | Uint8Array;
}

/** The authentication server without a host: both APIs over real storage, with a clock that tests move. */
export interface TestAuth extends People {
  readonly context: AuthContext;
  /** What maintenance works on. */
  readonly deployment: Deployment;
  readonly storage: FreshStorage;
  readonly vault: Vault;
  /** A static token of the Core API. */
  readonly token: string;
  now(): Instant;
  advance(ms: number): void;
  /** Log lines so far, as written. */
  readonly lines: readonly string[];
  /** Log lines of level error so far. */
  readonly errors: readonly string[];
  /** Events of that name in the log, parsed. */
  events(name: string): readonly Readonly<Record<string, unknown>>[];
  /** Storage requests that `work` makes. */
  counted<T>(work: () => Promise<T>): Promise<CallCounts & { readonly result: T }>;
  /** How many passwords were hashed or checked so far. */
  hashes(): number;
  /** Calls what is at the path, `/core/…` with the token. The status is 404 and nothing else where a host finds no route. */
  call(method: string, path: string, sent?: Sent): Promise<AuthResponse>;
  get(path: string, fields?: Sent["fields"], headers?: Sent["headers"]): Promise<AuthResponse>;
  post(path: string, fields?: Sent["fields"], headers?: Sent["headers"]): Promise<AuthResponse>;
  /** Storage on other tables, with what the context has besides. */
  storeOn(tables: Tables): AuthStore;
  /** A further host on the same storage, vault and clock. */
  anotherInstance(options?: AuthOptions): TestAuth;
}

export interface AuthOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly limits?: Limits;
  /** For validation servers. */
  readonly fetch?: typeof fetch;
  /** Ports of the test's own around the real ones. */
  readonly ports?: (context: AuthContext) => Partial<AuthContext>;
  /** Tables of the test's own around the real ones. */
  readonly tables?: (tables: Tables) => Tables;
}

/** Ports for `AuthOptions` in which some functions of one are the test's own. */
export const replacing =
  <K extends "hasher" | "otpkeys" | "sessions" | "throttles" | "users">(
    name: K,
    own: (real: AuthContext[K]) => Partial<AuthContext[K]>,
  ) =>
  (context: AuthContext): Partial<AuthContext> => ({ [name]: { ...context[name], ...own(context[name]) } });

let vaults: Promise<Vault> | undefined;

/** One vault for a test file. */
function vaultOfFile(): Promise<Vault> {
  vaults ??= startVaultOfFile();
  return vaults;
}

async function startVaultOfFile(): Promise<Vault> {
  const vault = await startVault({
    secrets: {
      "data-encryption-key": Buffer.alloc(32, 7).toString("base64url"),
      "password-pepper": Buffer.alloc(32, 9).toString("base64url"),
      "otp-validation-key": validationKey.toString("base64"),
    },
  });
  atEndOfFile(async () => {
    vaults = undefined;
    await vault.close();
  });
  return vault;
}

/** What requests to validation servers are signed with. */
export const validationKey = Buffer.from("twenty letters it is");

/**
 * Both APIs on fresh storage.
 * @param options `still`: the clock moves by `advance` alone; `vault`: another than that of the file
 */
export async function testAuth({
  still = false,
  vault: own,
  ...options
}: AuthOptions & { readonly still?: boolean; readonly vault?: Vault } = {}): Promise<TestAuth> {
  const storage = freshStorage();
  const tables = openTables({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
  await Promise.all(authTables.map(name => tables.createTable(name)));
  const vault = own ?? (await vaultOfFile());
  const started = Date.now();
  let aheadMs = 0;
  const clock: Clock = {
    now: () => instant((still ? started : Date.now()) + aheadMs),
    advance: ms => {
      aheadMs += ms;
    },
  };
  return connect(storage, vault, clock, options);
}

interface Clock {
  now(): Instant;
  advance(ms: number): void;
}

function connect(storage: FreshStorage, vault: Vault, clock: Clock, options: AuthOptions): TestAuth {
  const lines: string[] = [];
  const errors: string[] = [];
  const counter = createCallCounter();
  const tokens = localTokens(vault);
  const settings = readAllSettings({
    SERVICE_APIS: "core,client",
    CLOUD_STORAGE_CONNECTION_STRING: storage.connectionString,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_STATIC_TOKENS: "true",
    ...options.settings,
  });
  if (settings.auth === undefined) throw new Error("the authentication server is not served");
  const opened = openDeployment(settings.deployment, { limits: { ...patientLimits, ...options.limits } });
  const deployment: Deployment = {
    ...opened,
    fetch: options.fetch ?? fetch,
    now: clock.now,
    log: createLog((level, line) => {
      lines.push(line);
      if (level === "error") errors.push(line);
    }),
    tables: (options.tables ?? (tables => tables))(
      openTables({
        connectionString: storage.connectionString,
        timeoutMs: storageTimeoutMs,
        policies: [counter.policy],
      }),
    ),
  };
  const real = openAuthContext(deployment, settings.auth);
  const pepper = keyRing(deployment.secrets, "password-pepper", deployment.caching);
  const hashing = countingHasher(cheapHasher(deployment, { importedUntil: settings.auth.IMPORTED_HASHES_UNTIL }));
  const own = { ...real, hasher: hashing.hasher };
  const context: AuthContext = { ...own, ...options.ports?.(own) };
  const apiTokens = apiTokensOf(deployment, "core");
  const common = servingOf(deployment);
  const served = [
    ...routesOf(core, settings.deployment.CORE_PATH, {
      ...common,
      deps: { ...context, apiTokens },
      identify: identifyCaller(deployment, { api: "core", tokens: apiTokens }),
    }),
    ...routesOf(client, settings.deployment.CLIENT_PATH, {
      ...common,
      deps: context,
      identify: identifySession(context),
    }),
  ];
  const call: TestAuth["call"] = async (method, path, { headers = {}, fields, body } = {}) => {
    const made = callOf(method, path, {
      headers: { authorization: `Bearer ${tokens.core}`, ...headers },
      fields,
      body,
    });
    const found = served.map(answerOf => answerOf(made)).find(reply => reply !== undefined);
    if (found === undefined) return { status: 404, headers: new Headers(), body: undefined, cookies: [] };
    const { status, headers: sent = {}, body: sentBody, cookies = [] } = await found;
    return {
      status,
      headers: new Headers(sent),
      body: sentBody === undefined ? sentBody : overWire(sentBody),
      cookies,
    };
  };
  return {
    context,
    deployment,
    storage,
    vault,
    token: tokens.core,
    ...clock,
    lines,
    errors,
    events: name => lines.map(line => JSON.parse(line)).filter(({ event }) => event === name),
    counted: counter.during,
    hashes: hashing.count,
    ...peopleOf(call),
    call,
    storeOn: tables => authStore(tables, { ...deployment, keyedHash: createKeyedHash(pepper) }),
    get: (path, fields = {}, headers = {}) => call("GET", path, { fields, headers }),
    post: (path, fields = {}, headers = {}) => call("POST", path, { fields, headers }),
    anotherInstance: (more = {}) =>
      connect(storage, vault, clock, {
        ...options,
        ...more,
        settings: { ...options.settings, ...more.settings },
        limits: { ...options.limits, ...more.limits },
      }),
  };
}

const overWire = (body: unknown): unknown => JSON.parse(JSON.stringify(body));

function countingHasher(hasher: PasswordHasher): { readonly hasher: PasswordHasher; count(): number } {
  let count = 0;
  return {
    count: () => count,
    hasher: {
      ...hasher,
      hash: (...given) => {
        count++;
        return hasher.hash(...given);
      },
      verify: (...given) => {
        count++;
        return hasher.verify(...given);
      },
    },
  };
}

/** The API's functions as a host would find them. */
const routesOf = <D, S>(api: Api<D, S>, prefix: string, serving: ServeOptions<D, S>) =>
  httpFunctions(api, prefix).map(({ template, methods, endpoint }) => {
    const { match } = parseRoute(template);
    const answer = serve(api, endpoint, template, serving);
    return (call: Call) => {
      const params = methods.includes(call.method) ? match(routedPath(call.url.pathname)) : undefined;
      return params && answer({ ...call, params });
    };
  });

function callOf(
  method: string,
  path: string,
  { headers, fields, body }: { headers: Sent["headers"]; fields: Sent["fields"]; body: Sent["body"] },
): Call {
  const url = new URL(path, origin);
  const encoded = fields === undefined ? undefined : new URLSearchParams(fields).toString();
  if (method !== "POST" && encoded) url.search = [url.search.slice(1), encoded].filter(Boolean).join("&");
  const form = method === "POST" && body === undefined ? encoded : undefined;
  const text = body ?? form;
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const type = form === undefined ? "application/json" : "application/x-www-form-urlencoded";
  return {
    method,
    url,
    params: {},
    headers: new Headers({
      host: url.host,
      ...(bytes && { "content-type": type, "content-length": String(bytes.byteLength) }),
      ...headers,
    }),
    invocationId: randomUUID(),
    body: bytes ?? new Uint8Array(),
  };
}

/** Where the APIs are called. */
export const origin = "https://auth.example";

/** A user made by the Core API. */
export interface MadeUser {
  readonly id: number;
  readonly name: string;
  readonly password: string;
  /** As sign-ins want them. */
  readonly credentials: { readonly username: string; readonly password: string };
}

/** A password that passes the rules and that no other test uses. */
export const newPassword = (): string => `pass ${randomUUID()}`;

let names = 0;
/** A name that no other test has. */
export const newName = (): string => `user-${++names}-${randomUUID().slice(0, 8)}`;

/** What tests do with users over the APIs. Makers and `logIn` throw where a call is refused. */
interface People {
  /** Makes a user who can sign in. */
  makeUser(given?: { readonly name?: string; readonly password?: string }): Promise<MadeUser>;
  /** Makes a user who has the key. */
  makeOwner<K extends SoftwareKey>(key: K): Promise<[owner: MadeUser, key: K]>;
  /** Imports a key and assigns it to a user. */
  giveKey<K extends SoftwareKey>(user: Pick<MadeUser, "id">, key: K): Promise<K>;
  /** Signs in and returns the session's value. */
  logIn(user: Pick<MadeUser, "name" | "password">, otp?: string): Promise<string>;
  /** Whether a session lives. */
  lives(session: string): Promise<boolean>;
  /** Whether the Core API calls an OTP valid, which counts no failure. A valid one is used up. */
  isValidOtp(user: Pick<MadeUser, "id">, otp: string): Promise<boolean>;
}

function peopleOf(call: TestAuth["call"]): People {
  const posted = async (path: string, fields: Readonly<Record<string, string>>) => {
    const { status, body } = await call("POST", path, { fields });
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const makeUser: People["makeUser"] = async ({ name = newName(), password = newPassword() } = {}) => {
    const made = (await posted("/core/users", { username: name, password })) as Pick<MadeUser, "id" | "name">;
    return { ...made, password, credentials: { username: made.name, password } };
  };
  const giveKey: People["giveKey"] = async ({ id }, key) => {
    await posted("/core/otpkeys", key.fields);
    await posted(`/core/users/${id}/otpkeys`, { otpkey: key.prefix });
    return key;
  };
  return {
    makeUser,
    makeOwner: async key => {
      const owner = await makeUser();
      return [owner, await giveKey(owner, key)];
    },
    giveKey,
    logIn: async ({ name, password }, otp) => {
      const body = await posted("/client/login", { username: name, password, ...(otp !== undefined && { otp }) });
      return (body as { session: string }).session;
    },
    lives: async session => (await call("GET", "/client/status", { headers: withSession(session) })).status === 200,
    isValidOtp: async ({ id }, otp) => {
      const { body } = await call("POST", `/core/users/${id}/validate`, { fields: { otp } });
      return (body as { valid_otp: boolean }).valid_otp;
    },
  };
}

/** Reads the throttle of a user's name. */
export const throttleOf = ({ context }: Pick<TestAuth, "context">, { id, name }: Pick<MadeUser, "id" | "name">) =>
  context.throttles.find(nameThrottleKey(name), id);

/** Presents a session by the header. */
export const withSession = (session: string) => ({ "x-service-session": session });
