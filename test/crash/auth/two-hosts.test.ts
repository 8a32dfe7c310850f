import { afterAll, describe, expect, test } from "vitest";
import importedHashes from "../../support/auth/imported-hashes.json" with { type: "json" };
import { hotpKey, type SoftwareKey, stepAt, totpKey, wrongOtp, yubicoKey } from "../../support/auth/software-key.ts";
import {
  type AuthResponse,
  type MadeUser,
  newName,
  newPassword,
  type TestAuth,
  testAuth,
  validationKey,
  withSession,
} from "../../support/auth/test-auth.ts";
import { simulatedServer } from "../../support/auth/validation-server.ts";
import { aroundCalls } from "../../support/storage/around-calls.ts";

/** Asked about keys of kind `remote`. */
const server = await simulatedServer(validationKey);
afterAll(() => server.close());
const auth = await testAuth({
  settings: { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: server.clientId },
  // No attempt is refused because the machine is slow.
  limits: {
    ...{ slotWaitMs: 60_000, throttleReservationMs: 300_000, keyStopFailures: 30 },
    ...{ validationCallMs: 60_000, validationTotalMs: 120_000 },
  },
});
const hosts = [auth, auth.anotherInstance()] as const;

/** That many calls at once, by turns at both hosts. */
const atOnce = <T>(count: number, call: (host: TestAuth, index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index % 2 === 0 ? hosts[0] : hosts[1], index)));
/** How many answers there were of each status. */
const statuses = (answers: readonly AuthResponse[]) =>
  Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, some]) => [status, some.length]));
const rows = (table: string) => Array.fromAsync(auth.deployment.tables.table(table).scan());

/** A host that stops at a write. `resume` sends it; then a killed host makes no further call. */
function hostThatStops(at: RegExp, { isKilled }: { readonly isKilled: boolean }) {
  const [stopped, resumed, sent] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const never = new Promise<never>(() => {});
  let isStopped = false;
  const host = auth.anotherInstance({
    tables: tables =>
      aroundCalls(tables, async ({ name }, send) => {
        if (isStopped && isKilled) return never;
        if (!at.test(name)) return send();
        isStopped = true;
        stopped?.resolve();
        await resumed?.promise;
        const result = await send();
        sent?.resolve();
        return isKilled ? never : result;
      }),
  });
  const resume = () => {
    resumed?.resolve();
    return sent?.promise;
  };
  return { host, stopped: stopped?.promise, resume };
}

describe("one OTP in eight logins at once over two hosts, by users who share the key", () => {
  const failuresOf = async ({ prefix }: SoftwareKey) => (await auth.context.otpkeys.find(prefix))?.value.failures;
  async function holders(key: SoftwareKey, count: number, fields = key.fields): Promise<readonly MadeUser[]> {
    await auth.post("/core/otpkeys", fields);
    const users = await atOnce(count, host => host.makeUser());
    for (const { id } of users) await auth.post(`/core/users/${id}/otpkeys`, { otpkey: key.prefix });
    return users;
  }
  const logins = (count: number, users: readonly MadeUser[], otp: () => string) =>
    atOnce(count, (host, index) =>
      host.post("/client/login", { ...users[(index >> 1) % users.length]?.credentials, otp: otp() }),
    );

  test.each<[string, () => SoftwareKey, () => number]>([
    ["hotp", hotpKey, () => 0],
    ["totp", totpKey, () => stepAt(auth.now())],
    ["yubico", yubicoKey, () => 1],
    ["remote", yubicoKey, () => 1],
  ])("of kind %s begins exactly one session; a validation server is asked once", async (kind, make, factor) => {
    const key = make();
    server.add(key);
    const isRemote = kind === "remote";
    const users = await holders(key, 4, isRemote ? { prefix: key.prefix, kind } : key.fields);
    const [otp, asked] = [key.otp(factor()), server.requests().length];
    expect(statuses(await logins(8, users, () => otp))).toEqual({ 200: 1, 401: 7 });
    expect((await rows("sessions")).filter(({ prefix }) => prefix === key.prefix)).toHaveLength(1);
    expect(server.requests().length - asked).toBe(isRemote ? 1 : 0);
    if (!isRemote) expect(await failuresOf(key)).toBe(7);
  });

  test("stops its key by the thirtieth wrong one, which then opens no account to the password alone", async () => {
    const key = hotpKey();
    const users = await holders(key, 11);
    for (const _ of Array(3)) expect(statuses(await logins(10, users, () => wrongOtp(key)))).toEqual({ 401: 10 });
    expect(await failuresOf(key)).toBe(30);
    // The eleventh has not guessed, so nothing but the key is in the way.
    const login = async (given: { otp?: string }) =>
      (await hosts[1].post("/client/login", { ...users[10]?.credentials, ...given })).status;
    expect([await login({}), await login({ otp: key.otp(0) })]).toEqual([401, 401]);
    await auth.post(`/core/otpkeys/${key.prefix}/enable`);
    expect([await login({}), await login({ otp: key.otp(1) }), await failuresOf(key)]).toEqual([401, 200, 0]);
  });
});

describe("a name that is guessed at by 24 at once", () => {
  test("has exactly ten of them checked, and looks the same whether or not a user has it", async () => {
    const user = await auth.makeUser();
    const looksOf = async (username: string) => {
      const answers = await atOnce(24, (host, n) => host.post("/client/login", { username, password: `guess ${n}` }));
      const looks = answers.map(({ status, headers, body, cookies }) => {
        const wait = Number(headers.get("retry-after"));
        const own = [...headers].filter(([name]) => name !== "retry-after" && name !== "x-request-id");
        return { status, headers: own, waits: wait > 0 && wait <= 30, body, cookies };
      });
      return looks.sort((one, other) => one.status - other.status);
    };
    const looks = await looksOf(user.name);
    const seen = looks.map(({ status, waits }) => [status, waits]);
    expect(seen).toEqual([...Array(10).fill([401, false]), ...Array(14).fill([429, true])]);
    expect(await looksOf(newName())).toEqual(looks);
    expect((await auth.post("/client/login", user.credentials)).status).toBe(429);
    await hosts[1].post(`/core/users/${user.id}/unlock`);
    expect((await auth.post("/client/login", user.credentials)).status).toBe(200);
  });
});

test("an import beside sign-ins grants each that begins after the user is there, and stays the same", async () => {
  const [[password, hash] = ["", ""]] = importedHashes as [string, string][];
  const users = Array.from({ length: 6 }, (_, n) => ({ username: `racing-${n}`, password_hash: hash }));
  const send = async (host: TestAuth) => {
    const { body } = await host.call("POST", "/core/users/batch", { body: JSON.stringify({ users }) });
    return (body as { results: readonly { status: number }[] }).results.map(({ status }) => status);
  };
  const signIns = atOnce(18, async (host, n) => {
    const username = `racing-${n % 6}`;
    const isKnown = (await host.get(`/core/users/${username}`)).status === 200;
    await host.post("/client/authenticate", { username, password });
    const { body } = await host.post("/client/authenticate", { username, password });
    return isKnown && body === false;
  });
  for (const status of (await Promise.all(hosts.map(send))).flat()) expect([200, 201]).toContain(status);
  expect(await signIns).not.toContain(true);
  expect(await send(hosts[1])).toEqual(users.map(() => 200));
});

describe("a login that is paused after its check, before its session is stored", () => {
  const endings: Readonly<Record<string, (user: MadeUser) => Promise<unknown>>> = {
    "the user was reset": ({ id, password }) => auth.post(`/core/users/${id}/reset`, { password }),
    "all the user's sessions were ended": ({ id }) => auth.post(`/core/users/${id}/sessions/delete`),
    "the user was deleted": ({ id }) => auth.call("DELETE", `/core/users/${id}`),
    "the name was given to another": async user => {
      await auth.call("DELETE", `/core/users/${user.id}`);
      await auth.makeUser(user);
    },
    "the password was changed": async user => {
      const fields = { oldpass: user.password, newpass: newPassword() };
      const change = await auth.post("/client/password", fields, withSession(await auth.logIn(user)));
      expect(change.status).toBe(200);
    },
  };

  test.each([["nothing", async () => {}] as const, ...Object.entries(endings)])(
    "and goes on after %s: its session lives only if nothing has ended it",
    async (what, end) => {
      const user = await auth.makeUser();
      const { host, stopped, resume } = hostThatStops(/^insert sessions/, { isKilled: false });
      const login = host.logIn(user);
      await stopped;
      await end(user);
      await resume();
      const session = await login;
      const lives = await Promise.all(hosts.map(each => each.lives(session)));
      expect(lives).toEqual(hosts.map(() => what === "nothing"));
    },
  );
});

describe("a code of a reset", () => {
  const withCode = async () => {
    const user = await auth.makeUser();
    const { body } = await auth.post(`/core/users/${user.id}/reset`, { issue_code: "true" });
    return { ...user, code: (body as { code: string }).code };
  };
  type WithCode = Awaited<ReturnType<typeof withCode>>;
  const use = (host: TestAuth, { name: username, code }: WithCode, newpass: string) =>
    host.post("/client/password", { username, code, newpass });
  const login = async ({ name: username }: WithCode, password: string) =>
    (await auth.post("/client/login", { username, password })).status;

  test.each([
    ["the attempt is reserved", /^insert throttles/],
    ["a try is taken", /^replace users .*triesLeft/],
    ["the sign-in is recorded", /^mergeExisting users/],
    ["the password is set", /^replace users .*argon2id/],
  ])("whose host is killed before %s works at another host, also if that write arrives later", async (_, at) => {
    const [user, lost, newpass] = [await withCode(), newPassword(), newPassword()];
    const { host, stopped, resume } = hostThatStops(at, { isKilled: true });
    void use(host, user, lost);
    await stopped;
    expect((await use(hosts[1], user, newpass)).status).toBe(200);
    await resume();
    expect([await login(user, newpass), await login(user, lost)]).toEqual([200, 401]);
    expect((await use(hosts[1], user, newPassword())).status).toBe(401);
    expect(await login(user, newpass)).toBe(200);
  });

  test("that is used four times at once sets one password", async () => {
    const user = await withCode();
    const passwords = Array.from({ length: 4 }, newPassword);
    const answers = await atOnce(4, (host, n) => use(host, user, passwords[n] ?? ""));
    expect(statuses(answers)).toEqual({ 200: 1, 401: 3 });
    const logins = [];
    for (const each of passwords) logins.push(await login(user, each));
    expect(logins).toEqual(answers.map(({ status }) => status));
  });

  test("is compared five times, however many try at once", async () => {
    const user = await withCode();
    const wrong = { ...user, code: "0000-0000-0000-0000" };
    expect(statuses(await atOnce(8, host => use(host, wrong, newPassword())))).toEqual({ 401: 8 });
    expect((await use(hosts[1], user, newPassword())).status).toBe(401);
    expect((await auth.context.users.find({ by: "id", id: user.id }))?.value.passwordCode?.triesLeft).toBe(0);
  });
});
