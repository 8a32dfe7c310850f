import { describe, expect, it, test } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { between, plus, seconds } from "../../../../lib/platform/time.ts";
import { hotpKey, wrongOtp } from "../../../support/auth/software-key.ts";
import {
  type MadeUser,
  newName,
  newPassword,
  replacing,
  type TestAuth,
  testAuth,
  throttleOf,
  withSession,
} from "../../../support/auth/test-auth.ts";

/** Waits begin after 3 failures there, to be quick. */
const auth = await testAuth({ still: true, settings: { AUTH_THROTTLE_FAILURES: "3" } });
/** As decided. */
const decided = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "10" } });

const refused = { error: "Too many failed attempts. Try again later." };
const authenticate = (username: string, password: string, otp?: string, on = auth) =>
  on.post("/client/authenticate", { username, password, ...(otp !== undefined && { otp }) });
const login = (username: string, password: string) => auth.post("/client/login", { username, password });

async function fail(username: string, times: number, on = auth): Promise<void> {
  for (let n = 0; n < times; n++) expect((await authenticate(username, "wrong", undefined, on)).body).toBe(false);
}

/** Seconds to wait, or 0 where the name is not throttled. The attempt itself is one with a wrong password. */
async function waitOf(username: string, on = auth): Promise<number> {
  const { status, headers, body } = await authenticate(username, "wrong", undefined, on);
  if (status === 200) return 0;
  expect({ status, body }).toEqual({ status: 429, body: refused });
  return Number(headers.get("retry-after"));
}

describe("failures of a username", () => {
  it.each(["a user's", "an unknown"])(
    "after 10 in a row make the name wait, longer after each further one: 429 with Retry-After (%s)",
    async whose => {
      const name = whose === "an unknown" ? newName() : (await auth.makeUser()).name;
      await fail(name, 10, decided);
      for (const wait of [30, 60]) {
        expect(await waitOf(name.toUpperCase(), decided)).toBe(wait);
        auth.advance(seconds(wait));
        expect(await waitOf(name, decided)).toBe(0);
      }
    },
  );

  it("apply to authenticate, login and password change, and also to the right password", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    await fail(user.name, 1);
    for (let n = 0; n < 2; n++) {
      const { status } = await (n % 2
        ? login(user.name, "wrong")
        : auth.post("/client/password", { newpass: newPassword(), oldpass: "wrong" }, withSession(session)));
      expect(status).toBe(401);
    }
    for (const attempt of [
      () => authenticate(user.name, user.password),
      () => login(user.name, user.password),
      () => auth.post("/client/password", { newpass: newPassword(), oldpass: user.password }, withSession(session)),
    ]) {
      const { status, body, headers, cookies } = await attempt();
      expect({ status, body, cookies }).toEqual({ status: 429, body: refused, cookies: [] });
      expect(headers.get("retry-after")).toBe("30");
    }
    expect((await auth.get("/client/status", {}, withSession(session))).status).toBe(200);
    expect(await auth.post(`/core/users/${user.id}/validate`, { password: user.password })).toMatchObject({
      body: { valid_password: true },
    });
  });

  it("are not cleared by a right password of the former owner of the name, who is deleted during the sign-in", async () => {
    const user = await auth.makeUser();
    const slow = auth.anotherInstance({
      ports: replacing("hasher", hasher => ({
        verify: async (...given) => {
          const isRight = await hasher.verify(...given);
          await auth.call("DELETE", `/core/users/${user.id}`);
          await auth.makeUser({ name: user.name });
          await fail(user.name, 2);
          return isRight;
        },
      })),
    });
    await authenticate(user.name, user.password, undefined, slow);
    expect((await auth.get(`/core/users/${user.name}/lock`)).body).toMatchObject({ failures: 2, running_attempts: 0 });
  });

  it("are not cleared by a right password that was not sufficient", async () => {
    const [{ name, password }] = await auth.makeOwner(hotpKey());
    for (let n = 0; n < 3; n++) expect((await authenticate(name, password)).body).toBe(false);
    expect(await waitOf(name)).toBe(30);
  });
});

describe("an administrator", () => {
  test.each<[string, (user: Pick<MadeUser, "id" | "name" | "password">) => ReturnType<TestAuth["post"]>]>([
    ["an unlock by id", ({ id }) => auth.post(`/core/users/${id}/unlock`)],
    ["an unlock by name", ({ name }) => auth.post(`/core/users/%20${name.toUpperCase()}/unlock`)],
    ["a reset", ({ id, password }) => auth.post(`/core/users/${id}/reset`, { password })],
  ])("ends the lock of a user by %s: 204", async (way, end) => {
    const user = await auth.makeUser();
    await fail(user.name, 3);
    expect(await waitOf(user.name)).toBe(30);
    expect(await end(user)).toMatchObject({ status: 204, body: undefined });
    expect(await waitOf(user.name)).toBe(0);
    if (!way.endsWith("name")) return;
    const unknown = { ...user, name: newName() };
    expect((await end(unknown)).status).toBe(204);
    await fail(unknown.name, 3);
    await end(unknown);
    expect(await waitOf(unknown.name)).toBe(0);
  });

  it("shows failures, the end of the lock and running attempts with two reads side by side, also for an unknown name", async () => {
    const user = await auth.makeUser();
    const lockOf = async (whom: string | number) => (await auth.get(`/core/users/${whom}/lock`)).body;
    for (const name of [user.name, newName()]) {
      expect(await lockOf(name)).toEqual({ failures: 0, locked_until: null, running_attempts: 0 });
      await fail(name, 2);
      const reason = name === user.name ? "wrong_password" : "unknown_user";
      const last_refusal = { at: auth.now(), reason };
      expect(await lockOf(name)).toEqual({ failures: 2, locked_until: null, running_attempts: 0, last_refusal });
      await fail(name, 1);
      const locked = { failures: 3, locked_until: plus(auth.now(), seconds(30)), running_attempts: 0, last_refusal };
      const { result, total, sequential } = await auth.counted(() => lockOf(name));
      expect([result, total, sequential]).toEqual([locked, 2, 1]);
      auth.advance(seconds(30));
      expect(await lockOf(name)).toEqual({ ...locked, locked_until: null });
    }
    expect(await lockOf(user.id)).toMatchObject({ failures: 3 });
    for (const segment of ["4711", "007", "a%2Fb"]) {
      expect((await auth.get(`/core/users/${segment}/lock`)).status).toBe(404);
    }
  });
});

describe("guesses side by side", () => {
  it("an attempt that finds only reservations waits for a free slot, then gets 429 with Retry-After 1", async () => {
    const user = await auth.makeUser();
    const gate = Promise.withResolvers<void>();
    const waiting = decided.anotherInstance({
      ports: replacing("hasher", hasher => ({
        verify: async (...given) => {
          await gate.promise;
          return hasher.verify(...given);
        },
      })),
    });
    const patient = decided.anotherInstance({
      ports: ({ sleep }) => ({
        sleep: async ms => {
          auth.advance(ms);
          await sleep(0);
        },
      }),
    });
    const under = Array.from({ length: 10 }, () => authenticate(user.name, user.password, undefined, waiting));
    while ((await throttleOf(auth, user)).value.reservations.length !== 10);
    const before = auth.now();
    const { status, headers, body } = await authenticate(user.name, user.password, undefined, patient);
    const busy = { error: "Too many attempts at the same time. Try again in a moment." };
    expect({ status, body, wait: headers.get("retry-after") }).toEqual({ status: 429, body: busy, wait: "1" });
    expect(patient.events("authentication")).toEqual([
      expect.objectContaining({ outcome: "undecided", reason: "busy", userId: user.id }),
    ]);
    expect(between(before, auth.now())).toBe(seconds(2));
    const late = authenticate(user.name, user.password, undefined, decided);
    gate.resolve();
    expect(await Promise.all([...under, late].map(async response => (await response).body))).toEqual(
      Array(11).fill(true),
    );
  });

  it("an attempt that ends undecided, for want of storage or vault, releases its slot and counts nothing", async () => {
    const user = await auth.makeUser();
    const broken = auth.anotherInstance({
      ports: ({ hasher, otpkeys }) => ({
        hasher: { ...hasher, verify: () => Promise.reject(new Error("the vault is away")) },
        otpkeys: { ...otpkeys, find: () => Promise.reject(new Error("storage is away")) },
      }),
    });
    for (let n = 0; n < 6; n++) {
      const otp = n % 2 ? "cccccccccccc123456" : undefined;
      expect((await authenticate(user.name, user.password, otp, broken)).status).toBe(500);
    }
    expect((await throttleOf(auth, user)).value).toMatchObject({ failures: 0, reservations: [] });
    expect((await authenticate(user.name, user.password)).body).toBe(true);
  });

  type Save = TestAuth["context"]["throttles"]["save"];
  const { throttles, users } = auth.context;

  /** A host whose writes of throttles, numbered from 0, are the test's own. */
  function saving(
    own: (write: number, save: () => ReturnType<Save>, throttle: Parameters<Save>[0]) => ReturnType<Save>,
    ports: Partial<TestAuth["context"]> = {},
  ): TestAuth {
    let writes = 0;
    const save: Save = (...given) => own(writes++, () => throttles.save(...given), given[0]);
    return auth.anotherInstance({ ports: () => ({ ...ports, throttles: { ...throttles, save } }) });
  }

  test.each([
    ["is unanswered", 503],
    ["is lost and then the time for a free slot is over", 429],
    ["is lost and then storage is away", 503],
  ])("an attempt whose reservation is written, but its response %s, releases its slot", async (then, expected) => {
    const user = await auth.makeUser();
    const away = new Fault("unavailable", "no storage");
    let isAway = false;
    const idOf = async (folded: string) => {
      if (!isAway) return users.idOf(folded);
      isAway = false;
      throw away;
    };
    const on = saving(
      async (write, save) => {
        const saved = await save();
        isAway = write === 0 && then.endsWith("away");
        if (write > 0) return saved;
        if (then === "is unanswered") throw away;
        if (expected === 429) auth.advance(seconds(3));
        return undefined;
      },
      { users: { ...users, idOf } },
    );
    expect((await authenticate(user.name, user.password, undefined, on)).status).toBe(expected);
    expect((await throttleOf(auth, user)).value).toEqual({ failures: 0, reservations: [] });
  });

  test("an attempt that another host has meanwhile taken for a failure clears it where it succeeds", async () => {
    const user = await auth.makeUser();
    const on = saving(async (write, save, throttle) => {
      if (write === 1) await throttles.save(throttle, { failures: 1, failedAt: auth.now(), reservations: [] });
      return save();
    });
    expect((await authenticate(user.name, user.password, undefined, on)).body).toBe(true);
    expect((await throttleOf(auth, user)).value).toEqual({ failures: 0, reservations: [] });
  });

  test.each([
    ["is not known to have none", seconds(3), 2],
    ["has read that it has none", 0, 1],
  ])("an attempt that ends without a place and %s makes no write that is not needed", async (_, passed, expected) => {
    const user = await auth.makeUser();
    const taken = { failures: 0, reservations: Array.from({ length: 10 }, (_, n) => ({ id: `${n}`, at: auth.now() })) };
    let writes = 0;
    const on = saving(
      async (write, save, throttle) => {
        writes += 1;
        if (write > 0) return save();
        await throttles.save(throttle, taken);
        auth.advance(passed);
        return save();
      },
      { sleep: async ms => auth.advance(ms) },
    );
    expect((await authenticate(user.name, user.password, undefined, on)).status).toBe(429);
    expect(writes).toBe(expected);
  });
});

describe("wrong OTPs of a key", () => {
  const lenient = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
  const keyOf = async ({ prefix }: { prefix: string }) => (await auth.context.otpkeys.find(prefix))?.value;
  const signIn = async (user: MadeUser, otp: string | undefined, password = user.password) =>
    (await authenticate(user.name, password, otp, lenient)).body;

  /** A key one failure before its stop. */
  async function nearlyStopped() {
    const [user, key] = await auth.makeOwner(hotpKey());
    const stored = await auth.context.otpkeys.find(key.prefix);
    if (stored === undefined) throw new Error("there is no key");
    await auth.context.otpkeys.save(stored, { ...stored.value, failures: 99 });
    return { user, key };
  }

  it("count only with the right password and the user's own key, and never at validate: no other caller can stop the key", async () => {
    const { user, key } = await nearlyStopped();
    const other = await auth.makeUser();
    expect(await signIn(user, wrongOtp(key), "wrong password")).toBe(false);
    expect((await lenient.post("/client/authenticate", { username: user.name, otp: wrongOtp(key) })).body).toBe(false);
    expect(await signIn(other, wrongOtp(key))).toBe(false);
    expect((await authenticate("nobody", user.password, wrongOtp(key), lenient)).body).toBe(false);
    await auth.post(`/core/users/${user.id}/validate`, { password: user.password, otp: wrongOtp(key) });
    expect(await keyOf(key)).toMatchObject({ failures: 99, stopped: false });
    expect(await signIn(user, key.otp(0))).toBe(true);
  });

  it("stop the key at 100 in a row, also for genuine OTPs and at validate, until an administrator enables it; its user still needs one", async () => {
    const { user, key } = await nearlyStopped();
    const view = async () => (await auth.get(`/core/users/${user.id}/otpkeys/${key.prefix}`)).body;
    expect(await signIn(user, wrongOtp(key))).toBe(false);
    expect(await view()).toMatchObject({ enabled: true, stopped: true });
    expect(lenient.events("otpkey_stopped").filter(({ prefix }) => prefix === key.prefix)).toHaveLength(1);
    expect([await signIn(user, key.otp(0)), await signIn(user, undefined)]).toEqual([false, false]);
    expect(await auth.isValidOtp(user, key.otp(1))).toBe(false);
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    expect(await view()).toMatchObject({ enabled: false, stopped: true });
    await auth.post(`/core/otpkeys/${key.prefix}/enable`);
    const started = await view();
    for (const column of ["stopped", "stopped_since"]) expect(started).not.toHaveProperty(column);
    expect(await keyOf(key)).toMatchObject({ failures: 0, stopped: false });
    expect([await signIn(user, key.otp(1)), await signIn(user, key.otp(2))]).toEqual([false, true]);
  });
});

describe("what a caller can learn from the work that is done", () => {
  it("is the same for an unknown user, a wrong password and a wrong OTP: calls to storage, one after another and in all, and hashes", async () => {
    const own = await testAuth();
    const [user, key] = await own.makeOwner(hotpKey());
    const plain = await own.makeUser();
    const work = async (fields: Record<string, string>) => {
      const before = own.hashes();
      const { sequential, total, calls, result } = await own.counted(() => own.post("/client/authenticate", fields));
      expect(result.body).toBe(false);
      const writes = calls.filter(call => !call.startsWith("GET")).length;
      return { sequential, total, writes, hashes: own.hashes() - before };
    };
    await own.post("/client/authenticate", { username: "nobody", password: "x" });
    await own.post("/client/authenticate", { username: plain.name, password: "x" });
    await own.post("/client/authenticate", { username: user.name, password: "x" });
    const [ghost, bad] = [{ username: "nobody" }, { password: "wrong" }];
    const mine = user.credentials;
    const byPassword = [{ ...mine, ...ghost }, { ...mine, ...bad }, mine, { ...mine, username: plain.name, ...bad }];
    for (const fields of byPassword) {
      expect(await work(fields), JSON.stringify(fields)).toEqual({ sequential: 4, total: 6, writes: 2, hashes: 1 });
    }
    let next = 0;
    const withOtp = [
      { ...mine, ...ghost, otp: wrongOtp(key) },
      { ...mine, ...ghost, otp: "ccccccccdddd000000" },
      { ...mine, ...ghost, otp: key.otp(next++) },
      { ...mine, ...bad, otp: wrongOtp(key) },
      { ...mine, ...bad, otp: "ccccccccdddd000000" },
      { ...mine, ...bad, otp: key.otp(next++) },
      { ...mine, otp: wrongOtp(key) },
      { ...mine, otp: "ccccccccdddd000000" },
      { ...mine, otp: key.otp(0) },
    ];
    for (const fields of withOtp) {
      await own.post(`/core/users/${user.id}/unlock`);
      await own.post("/core/users/nobody/unlock");
      await own.post("/client/authenticate", { username: fields.username, password: "x" });
      expect(await work(fields), JSON.stringify(fields)).toEqual({ sequential: 4, total: 7, writes: 3, hashes: 1 });
    }
  });
});

test("a password takes its time also where no user can be meant", async () => {
  for (const username of ["a/b", "4711", ""]) {
    const before = auth.hashes();
    expect((await authenticate(username, "some password")).body).toBe(false);
    expect(auth.hashes() - before).toBe(1);
  }
});
