// What the service's own code costs: the API with stores that answer at once and a hash that costs nothing. See README.md.
import { randomBytes } from "node:crypto";
import { identifySession } from "../functions/auth/client/identify-session.ts";
import type { AuthContext } from "../functions/auth/context.ts";
import { client } from "../functions/auth/routes.ts";
import { toAuthRules } from "../lib/auth/deps.ts";
import type { Session, SessionKey } from "../lib/auth/model/session.ts";
import { sessionKey } from "../lib/auth/model/session.ts";
import { noFailures } from "../lib/auth/model/throttle.ts";
import { authSettings } from "../lib/auth/settings.ts";
import type { OtpKey, Stored, User } from "../lib/auth/store.ts";
import { hashUsername } from "../lib/auth/user-hash.ts";
import type { Call } from "../lib/http/call.ts";
import { routeParts } from "../lib/http/route.ts";
import { serve } from "../lib/http/serve.ts";
import { createLog } from "../lib/log.ts";
import { createSealer } from "../lib/seal.ts";
import { instant } from "../lib/time.ts";
import { hotpCode } from "../test/lib/auth/otp/codes.ts";
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
  const handle = hashUsername("anna");
  const user: Stored<User> = {
    value: { id: 5, name: "anna", userHash: handle, epoch: 1, createdAt: now(), password: { hash: "", pepper: "1" } },
    version: "1",
  };
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
      signInState: async () => ({
        user,
        throttle: { handle, userId: 5, value: noFailures, version: "1" },
        otpkeys: withKey ? [{ prefix, id: 7 }] : [],
      }),
    },
    throttles: { save: async <T>(throttle: T, value: unknown) => ({ ...throttle, value, version: "2" }) },
    otpkeys: {
      find: async (of: string) => (of === prefix ? key : undefined),
      save: async (_: unknown, value: OtpKey) => {
        key = { value, version: "2" };
        return key;
      },
    },
    sessions: {
      begin: async ({ hash }: SessionKey, value: Session) => void sessions.set(hash, { value, version: "1" }),
      find: async ({ hash }: SessionKey) => ({ session: sessions.get(hash), user }),
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
  hasher: { takePlace: () => ({ release: () => {} }), verify: async () => true, isOutdated: async () => false },
  sealer,
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

/** Microseconds of CPU a call: of the best of several runs, as other work on the machine can only make it worse. */
async function cost(call: () => Promise<{ readonly status: number }>): Promise<number> {
  const run = async (calls: number) => {
    const before = process.cpuUsage();
    for (let n = 0; n < calls; n++) {
      const { status } = await call();
      if (status !== 200) throw new Error(`answered ${status}`);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
  };
  await run(3000);
  const runs: number[] = [];
  for (let round = 0; round < 9; round++) runs.push(await run(1000));
  return Math.min(...runs);
}

const [status, login] = [endpointOf("clientStatus", "/status", "GET"), endpointOf("clientLogin", "/login", "POST")];
const fields = { username: "anna", password };
const { session } = (await login({}, fields)).body as { session: string };
if (sessionKey(session) === undefined) throw new Error("there is no session");
const rows: string[][] = [["own code", "CPU µs a call"]];
rows.push(["status", (await cost(() => status({ "x-service-session": session }))).toFixed(0)]);
rows.push(["login with password", (await cost(() => login({}, fields))).toFixed(0)]);
withKey = true;
let counter = 0;
const otp = () => prefix + hotpCode(secret, counter++);
rows.push(["login with HOTP", (await cost(() => login({}, { ...fields, otp: otp() }))).toFixed(0)]);
console.log(`${table(rows)}\n\n${machine()}; ${written} characters of log were made`);
