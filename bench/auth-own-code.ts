// What the service's own code costs: the API with stores that answer at once and a hash that costs nothing. See README.md.
import { randomBytes } from "node:crypto";
import { app } from "@azure/functions";
import { identifySession } from "../functions/auth/client/identify-session.ts";
import type { AuthContext } from "../functions/auth/context.ts";
import { client } from "../functions/auth/routes.ts";
import { toAuthRules } from "../lib/auth/deps.ts";
import { OverloadFault } from "../lib/auth/passwords/hash-queue.ts";
import type { Session, SessionKey } from "../lib/auth/sessions/session.ts";
import { sessionKey } from "../lib/auth/sessions/session.ts";
import { authSettings } from "../lib/auth/settings.ts";
import { noFailures } from "../lib/auth/sign-in/throttle.ts";
import type { OtpKey, ThrottleKey, User } from "../lib/auth/store.ts";
import { createUsernameHashForLog } from "../lib/auth/users/hash-username-for-log.ts";
import { registerHttp } from "../lib/platform/functions-host/functions-app.ts";
import type { Call } from "../lib/platform/http/call.ts";
import { routeParts } from "../lib/platform/http/route.ts";
import { serve } from "../lib/platform/http/serve.ts";
import { createLog } from "../lib/platform/log.ts";
import { createSealer } from "../lib/platform/seal.ts";
import type { Stored } from "../lib/platform/stored.ts";
import { instant } from "../lib/platform/time.ts";
import { installFunctionsCore } from "../local/host/functions-core.ts";
import { createInvoke } from "../local/host/invoke.ts";
import { servedFunctions } from "../local/host/served-functions.ts";
import { hotpCode } from "../test/lib/auth/otpkeys/kinds/codes.ts";
import { machine, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";

const now = () => instant(Date.now());
const random = (bytes: number) => new Uint8Array(randomBytes(bytes));
const dataKey = { version: "1", key: random(32) };
const sealer = createSealer({ current: async () => dataKey, candidates: async () => [dataKey.key] });
const secret = randomBytes(20);
const prefix = "ccccccccccbd";
let written = 0;

/** One user with one key, and the last session. */
function stores() {
  const user = (): Stored<User> => ({
    value: {
      id: 5,
      name: "anna",
      epoch: 1,
      enabled: true,
      otpkeys: withKey ? [{ prefix, id: 7 }] : [],
      createdAt: now(),
      password: { hash: "", pepper: "1" },
    },
    version: "1",
  });
  const sessions = new Map<string, Stored<Session>>();
  let key: Stored<OtpKey> | undefined;
  const place = { table: "otpkeys", row: `${prefix}/key`, purpose: "otp-secret" };
  const made = sealer.seal(JSON.stringify({ secret: secret.toString("hex") }), place).then(sealedSecret => {
    const form = { digits: 6, state: { counter: 0 } };
    const rest = { kind: "hotp", enabled: true, failures: 0, stopped: false, createdAt: now() } as const;
    key = { value: { id: 7, prefix, form, sealedSecret, ...rest }, version: "1" };
  });
  return {
    made,
    users: {
      idOf: async () => 5,
      find: async () => user(),
      recordLogin: async () => {},
    },
    throttles: {
      find: async (of: ThrottleKey, ownerOf: () => Promise<number | undefined>) => ({
        key: of,
        ownerId: await ownerOf(),
        value: noFailures,
        version: "1",
      }),
      save: async <T>(throttle: T, value: unknown) => ({ ...throttle, value, version: "2" }),
    },
    otpkeys: {
      find: async (of: string) => (of === prefix ? key : undefined),
      findNone: async () => {},
      save: async (_: unknown, value: OtpKey) => {
        key = { value, version: "2" };
        return key;
      },
    },
    sessions: {
      create: async ({ hash }: SessionKey, value: Session) => void sessions.set(hash, { value, version: "1" }),
      find: async ({ hash }: SessionKey) => ({ session: sessions.get(hash), user: user() }),
      end: async () => true,
    },
  };
}

/** Whether the user has the key. */
let withKey = false;
const { made, ...inMemory } = stores();
await made;
const context = {
  ...inMemory,
  hasher: {
    acquireHashSlot: () => ({ waitTurn: async () => {}, release: () => {}, [Symbol.dispose]: () => {} }),
    verify: async () => true,
    isOutdated: async () => false,
  },
  sealer,
  hashUsernameForLog: createUsernameHashForLog({ current: async () => dataKey }),
  otpPeers: {},
  rules: toAuthRules(authSettings.parse({})),
  log: createLog((_, line) => {
    written += line.length;
  }),
  now,
  random,
  sleep: async () => {},
  callerAddress: () => undefined,
  // Of the ports only what these endpoints use.
} as unknown as AuthContext;

const serving = {
  identify: identifySession(context),
  log: context.log,
  strictTransport: true,
  trustedProxies: 1,
};

function endpointOf(name: string, path: `/${string}`, method: "GET" | "POST") {
  const endpoint = client.endpoints[name];
  if (endpoint === undefined) throw new Error(`there is no ${name}`);
  const answer = serve(client, endpoint, routeParts(`${method} ${path}`, "client"), { ...serving, deps: context });
  return (headers: Readonly<Record<string, string>>, form: Readonly<Record<string, string>> = {}) => {
    const body = new TextEncoder().encode(new URLSearchParams(form).toString());
    const type = "application/x-www-form-urlencoded";
    const call: Call = {
      method,
      url: new URL(`http://127.0.0.1:7071/client${path}`),
      headers: new Headers({ host: "127.0.0.1:7071", "content-type": type, ...headers }),
      params: {},
      invocationId: "a5c9a3a0-9f8e-4f7c-8f6f-6d2f3f0e9b11",
      body: async () => body,
    };
    return answer(call);
  };
}

/** Microseconds of a call: of the best of many short runs, because other work on the machine can only make it worse. */
async function cost(call: () => Promise<unknown>): Promise<string> {
  const run = async (calls: number) => {
    const began = performance.now();
    for (let n = 0; n < calls; n++) await call();
    return ((performance.now() - began) * 1000) / calls;
  };
  await run(3000);
  const runs: number[] = [];
  for (let round = 0; round < 200; round++) runs.push(await run(20));
  return Math.min(...runs).toFixed(0);
}

/** Returns a function that calls a registered function as the host does, with the platform's steps around it. */
function invocation(name: string, http: Readonly<Record<string, unknown>>) {
  const served = servedFunctions(hostCore, { setting: () => undefined, log: () => {} });
  const one = served.find(each => each.name === name);
  if (one === undefined) throw new Error(`there is no ${name}`);
  const invoke = createInvoke(hostCore, () => {});
  const input = { url: "http://127.0.0.1:7071/client", nullableQuery: {}, nullableParams: {}, ...http };
  return async (expected: string) => {
    const { returnValue } = await invoke(one, { http: input as never }, "bench");
    if (returnValue?.http?.statusCode !== expected) throw new Error(`answered ${returnValue?.http?.statusCode}`);
  };
}

const hostCore = installFunctionsCore();
const register = (name: string, path: `/${string}`, method: "GET" | "POST") => {
  const endpoint = client.endpoints[name];
  if (endpoint === undefined) throw new Error(`there is no ${name}`);
  const parts = routeParts(`${method} ${path}`, "client");
  const answer = serve(client, endpoint, parts, { ...serving, deps: context });
  registerHttp(name, { template: parts.segments.join("/"), methods: [method], answer });
};
register("clientStatus", "/status", "GET");
register("clientAuthenticate", "/authenticate", "POST");
app.http("bare", {
  route: "bare",
  methods: ["GET"],
  handler: async () => ({ jsonBody: { username: "anna", user_id: 5 } }),
});
app.http("bareForm", {
  route: "bareForm",
  methods: ["POST"],
  handler: async request => {
    await request.arrayBuffer();
    return { jsonBody: { username: "anna", user_id: 5 } };
  },
});

const [status, login] = [endpointOf("clientStatus", "/status", "GET"), endpointOf("clientLogin", "/login", "POST")];
const authenticate = endpointOf("clientAuthenticate", "/authenticate", "POST");
const fields = { username: "anna", password };
const { session } = (await login({}, fields)).body as { session: string };
if (sessionKey(session) === undefined) throw new Error("there is no session");
const host = { host: { value: "127.0.0.1:7071" } };
const bare = invocation("bare", { method: "GET", nullableHeaders: host });
const invokedStatus = invocation("clientStatus", {
  method: "GET",
  nullableHeaders: { ...host, "x-service-session": { value: session } },
});
const posted = {
  method: "POST",
  nullableHeaders: { ...host, "content-type": { value: "application/x-www-form-urlencoded" } },
  body: { bytes: new TextEncoder().encode(new URLSearchParams(fields).toString()) },
};
const bareForm = invocation("bareForm", posted);
const invokedAuthenticate = invocation("clientAuthenticate", posted);

const rows: string[][] = [["own code", "µs a call", "as the worker calls it"]];
// The first calls include the compilation of the steps that all have in common.
await cost(() => bare("200"));
rows.push(["a function that does nothing", "", await cost(() => bare("200"))]);
rows.push(["a function that only reads a body", "", await cost(() => bareForm("200"))]);
const headers = { "x-service-session": session };
rows.push(["status", await cost(() => status(headers)), await cost(() => invokedStatus("200"))]);
rows.push(["login with password", await cost(() => login({}, fields)), ""]);
withKey = true;
let counter = 0;
const otp = () => prefix + hotpCode(secret, counter++);
rows.push(["login with HOTP", await cost(() => login({}, { ...fields, otp: otp() })), ""]);
const acquireHashSlot = () => {
  throw new OverloadFault(2);
};
Object.assign(context, { hasher: { acquireHashSlot } });
const refused = await cost(() => authenticate({}, fields));
rows.push(["authenticate, refused for overload", refused, await cost(() => invokedAuthenticate("503"))]);
console.log(`${table(rows)}\n\n${machine()}; ${written} characters of log were made`);
