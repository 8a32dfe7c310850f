import { afterAll, describe, expect, test } from "vitest";
import { client, core } from "../../../../functions/auth/routes.ts";
import { createAuthResources } from "../../../support/auth/auth-resources.ts";
import { fieldsOf } from "../../../support/auth/core-bodies.ts";
import { deadAddress } from "../../../support/dead-address.ts";
import { type MainProcess, startMain } from "../../main-process.ts";

const { vault, bearer, ...created } = await createAuthResources();
const settings = { ...created.settings, AUTH_SELF_ASSIGN: "true" };
const limits = { storageCallMs: 6000, secretRefreshMs: 1, healthMaxAgeMs: 1 };
const nowhere = settings.CLOUD_STORAGE_CONNECTION_STRING.replace(
  /(?<=TableEndpoint=)http:\/\/127\.0\.0\.1:\d+/,
  deadAddress,
);
/** The deployed app in processes of its own: one with a vault whose failures are configurable, one without storage. */
const [main, withoutStorage] = await Promise.all([
  startMain(settings, limits),
  // On a busy machine, a turn to hash could come too late for the default, which is another 503.
  startMain(
    { ...settings, CLOUD_STORAGE_CONNECTION_STRING: nowhere },
    { ...limits, storageCallMs: 1000, hashWaitMs: 60_000 },
  ),
]);

afterAll(() => Promise.all([main.end(), withoutStorage.end()]));

const fields = {
  username: "anna",
  password: "a password that fits",
  value: "x",
  key: "x",
  newpass: "another that fits",
  valid_until: new Date(Date.now() + 86_400_000).toISOString(),
};
const session = `2031-01-01T00.1.${"A".repeat(43)}`;

async function answer({ url }: MainProcess, method: string, path: string) {
  const all: Readonly<Record<string, string>> = { ...fields, otpkey: "x", prefix: "x" };
  const isCore = path.startsWith("/core");
  // A change by the Core API has no unknown field.
  const names = Object.keys(fieldsOf(path.replace("/core", ""), { prefix: "x", later: fields.valid_until }));
  const ofClient = { ...all, ...(path === "/client/otpkeys" && { otp: "x" }) };
  const sent = new URLSearchParams(
    isCore && method !== "GET"
      ? names.map((name): [string, string] => [name, all[name] ?? ""])
      : Object.entries(ofClient),
  );
  const identity = isCore ? bearer : { "x-service-session": session };
  const isList = path.endsWith("/batch");
  const headers = { ...identity, ...(isList && { "content-type": "application/json" }) };
  const lists = path.includes("otpkeys")
    ? { otpkeys: [{ prefix: "x" }] }
    : { users: [{ username: "x", password: "" }] };
  const posted = isList ? JSON.stringify(lists) : sent;
  // The list of OTP keys refuses unknown parameters.
  const inQuery = method === "GET" && path !== "/core/otpkeys" ? `?${sent}` : "";
  const response = await fetch(url + path + inQuery, { method, headers, ...(method === "POST" && { body: posted }) });
  return { status: response.status, retry: Number(response.headers.get("retry-after")), body: await response.json() };
}

const methodAndPath = (route: string) => route.split(" ") as [method: string, path: string];

/** Every route of both APIs with something in it. */
const routes = [core, client].flatMap(({ name, endpoints }) =>
  Object.values(endpoints).flatMap(endpoint =>
    endpoint.routes.map(route => methodAndPath(route.replace(" ", ` /${name}`).replaceAll(/\{\w+\}/g, "x"))),
  ),
);

test("every call that needs storage is 503 with the time to wait and without details while storage is away", async () => {
  const asked = routes.filter(([, path]) => !/api-tokens|\/caller$/.test(path));
  expect(asked.length).toBeGreaterThan(50);
  for (let start = 0; start < asked.length; start += 20) {
    const some = asked.slice(start, start + 20);
    const answers = await Promise.all(some.map(([method, path]) => answer(withoutStorage, method, path)));
    for (const [index, refusal] of answers.entries()) {
      expect(refusal, String(some[index])).toEqual({
        status: 503,
        retry: expect.toSatisfy((seconds: number) => seconds >= 1),
        body: { error: "Storage is not available at the moment." },
      });
    }
  }
  expect((await fetch(`${withoutStorage.url}/health`)).status).toBe(503);
});

describe("where the vault is away", () => {
  test("sign-ins are 503 and count neither as success nor as failure", async () => {
    const calls = ["GET /core/users", "POST /client/login", "POST /client/authenticate"];
    const refusals = [500, 403].map(status => ({ kind: "refuse", status }) as const);
    for (const rule of [
      ...refusals,
      { kind: "throttle", retryAfter: 7 },
      { kind: "drop" },
      { kind: "nonsense" },
    ] as const) {
      vault.fail({ ...rule, times: 1000 });
      for (const refusal of await Promise.all(calls.map(call => answer(main, ...methodAndPath(call))))) {
        expect([500, 503], JSON.stringify([rule, refusal])).toContain(refusal.status);
        expect(refusal.body).toEqual({
          error: expect.stringMatching(/^(Internal error|Key Vault is not available at the moment)\.$/),
        });
        if (refusal.status === 503) expect(refusal.retry).toBeGreaterThan(0);
      }
      expect((await fetch(`${main.url}/health`)).status).toBe(503);
      vault.clearFaults();
    }
    expect((await answer(main, "POST", "/core/users")).status).toBe(201);
    expect((await answer(main, "POST", "/client/authenticate")).body).toBe(true);
    expect((await fetch(`${main.url}/health`)).status).toBe(200);
  });

  test("a process that has read the secrets continues with their cached values", async () => {
    vault.fail({ kind: "refuse", status: 503, times: 1000 });
    expect((await answer(main, "GET", "/core/users")).status).toBe(200);
    expect((await answer(main, "POST", "/client/authenticate")).body).toBe(true);
    vault.clearFaults();
  });
});
