import { describe, expect, it, onTestFinished, test } from "vitest";
import { OverloadFault } from "../../../../lib/auth/passwords/hash-queue.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { cheapHasher } from "../../../support/auth/cheap-hashes.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import {
  type MadeUser,
  newName,
  newPassword,
  replacing,
  testAuth,
  withSession,
} from "../../../support/auth/test-auth.ts";
import { until } from "../../../support/until.ts";

const auth = await testAuth();
/** A host whose queue of passwords has eight slots, six of them for unknown callers. */
const small = auth.anotherInstance({
  settings: { AUTH_SELF_ASSIGN: "true", AUTH_ADDRESS_LIMIT: "10", TRUSTED_PROXIES: "1" },
  ports: context => ({ hasher: cheapHasher(context, { maxConcurrent: 2, maxSlots: 8 }) }),
});
const { hasher } = small.context;

/** Acquires every slot that unknown callers can have. Returns how many there were. */
function fillWithUnknownCallers(): number {
  for (let taken = 0; ; taken++) {
    try {
      const slot = hasher.acquireHashSlot({ isKnown: false });
      onTestFinished(() => slot.release());
    } catch (error) {
      expect(error).toBeInstanceOf(OverloadFault);
      return taken;
    }
  }
}

const lockOf = async ({ name }: Pick<MadeUser, "name">) => (await auth.get(`/core/users/${name}/lock`)).body;
const unlocked = { failures: 0, locked_until: null, running_attempts: 0 };

describe("a host whose queue of passwords has no slot", () => {
  it.each(["authenticate", "login"])("answers %s with 503 and Retry-After before any storage call", async name => {
    const user = await auth.makeUser();
    expect(fillWithUnknownCallers()).toBe(6);
    const from = { "x-forwarded-for": "203.0.113.7" };
    for (const fields of [
      user.credentials,
      { username: newName(), password: "wrong" },
      { username: user.name, otp: hotpKey().otp(0) },
      {},
    ]) {
      const { total, result } = await small.counted(() => small.post(`/client/${name}`, fields, from));
      expect(total).toBe(0);
      const { status, headers, body, cookies } = result;
      const error = "Too many passwords are being checked. Try again in a moment.";
      expect({ status, body, cookies }).toEqual({ status: 503, body: { error }, cookies: [] });
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(small.events("authentication").at(-1)).toMatchObject({ outcome: "undecided", reason: "overloaded" });
      expect(small.events("http").at(-1)).toMatchObject({ status: 503, reason: "overloaded" });
      expect(small.events("unavailable")).toEqual([]);
    }
    expect(await lockOf(user)).toEqual(unlocked);
  });

  it("serves known callers: a session, a device token and the Core API", async () => {
    const user = await auth.makeUser();
    const { name: username, password } = user;
    const session = await auth.logIn(user);
    const remembered = await auth.post("/client/login", { username, password, remember_device: "true" });
    const { device } = remembered.body as { device: string };
    const key = hotpKey();
    await auth.post("/core/otpkeys", key.fields);
    expect(fillWithUnknownCallers()).toBe(6);
    expect((await small.post("/client/login", { username, password })).status).toBe(503);
    const headers = { "x-service-device": device };
    expect((await small.post("/client/login", { username, password }, headers)).status).toBe(200);
    expect((await small.get("/client/status", {}, withSession(session))).status).toBe(200);
    const assigning = { password, otp: key.otp(0) };
    expect((await small.post("/client/otpkeys", assigning, withSession(session))).status).toBe(200);
    const validated = await small.post(`/core/users/${user.id}/validate`, { password });
    expect(validated.body).toMatchObject({ valid_password: true });
    const change = { newpass: newPassword(), oldpass: password, otp: key.otp(1) };
    expect((await small.post("/client/password", change, withSession(session))).status).toBe(200);
    expect((await small.post("/core/users", { username: newName(), password: newPassword() })).status).toBe(201);
  });

  it("refuses a password change before the OTP is used up, also when only one of its two hashes has a slot", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const session = await auth.logIn(user, key.otp(0));
    const change = { newpass: newPassword(), oldpass: user.password, otp: key.otp(1) };
    expect(fillWithUnknownCallers()).toBe(6);
    const slots = [hasher.acquireHashSlot({ isKnown: true }), hasher.acquireHashSlot({ isKnown: true })];
    for (const slot of slots) {
      expect((await small.post("/client/password", change, withSession(session))).status).toBe(503);
      slot.release();
    }
    expect(await lockOf(user)).toEqual(unlocked);
    expect((await small.post("/client/password", change, withSession(session))).status).toBe(200);
  });
});

test("Core's validate is refused before the OTP is used up if the queue has no slot", async () => {
  const [user, key] = await auth.makeOwner(hotpKey());
  const validate = () => small.post(`/core/users/${user.id}/validate`, { password: user.password, otp: key.otp(0) });
  const slots = Array.from({ length: 6 }, () => hasher.acquireHashSlot({ isKnown: true }));
  expect((await validate()).status).toBe(503);
  for (const slot of slots) slot.release();
  expect((await validate()).body).toEqual({ valid_password: true, valid_otp: true });
});

test("a sign-in waits for its turn before its first storage call, with a password and without one", async () => {
  const turn = Promise.withResolvers<void>();
  let waiting = 0;
  const waitTurn = () => {
    waiting += 1;
    return turn.promise;
  };
  const slow = auth.anotherInstance({
    ports: replacing("hasher", ({ acquireHashSlot }) => ({
      acquireHashSlot: caller => ({ ...acquireHashSlot(caller), waitTurn }),
    })),
  });
  const { calls } = await slow.counted(async () => {
    for (const password of [undefined, "wrong"])
      void slow.post("/client/authenticate", { username: newName(), ...(password && { password }) });
    await until(
      () => waiting === 2,
      () => `${waiting} wait`,
    );
  });
  expect(calls).toEqual([]);
  turn.resolve();
});

describe("the slot of an attempt", () => {
  it("is released when the attempt ends, whatever its end", async () => {
    const user = await auth.makeUser();
    const { name: username, password } = user;
    const idOf = () => Promise.reject(new Error("storage is away"));
    const away = small.anotherInstance({ ports: ({ users }) => ({ hasher, users: { ...users, idOf } }) });
    for (let round = 0; round < 3; round++) {
      expect((await small.post("/client/authenticate", { username, password })).body).toBe(true);
      expect((await small.post("/client/authenticate", { username: newName(), password })).body).toBe(false);
      expect((await small.post("/client/authenticate", { username: "no/name", password })).body).toBe(false);
      expect((await small.post("/client/login", { username, password: "wrong" })).status).toBe(401);
      expect((await away.post("/client/authenticate", { username, password })).status).toBe(500);
    }
    expect(fillWithUnknownCallers()).toBe(6);
  });

  it.each([
    ["with a password", true],
    ["without one", false],
  ])(
    "is released before the OTP of an attempt %s is checked, which can take long at a validation server",
    async (_, hasPassword) => {
      const [user, key] = await auth.makeOwner(hotpKey());
      let free = 0;
      const checking = small.anotherInstance({
        ports: ({ otpkeys }) => ({
          hasher,
          otpkeys: {
            ...otpkeys,
            save: async (...given) => {
              free = fillWithUnknownCallers();
              return otpkeys.save(...given);
            },
          },
        }),
      });
      const fields = { ...(hasPassword ? user.credentials : { username: user.name }), otp: key.otp(0) };
      expect((await checking.post("/client/authenticate", fields)).body).toBe(hasPassword);
      expect(free).toBe(6);
    },
  );

  it.each([
    ["a sign-in", "authenticate"],
    ["a self-assignment", "otpkeys"],
    ["the sign-in of a password change, as that of its new hash,", "password"],
  ])("is released before %s is withdrawn, which can take long if storage does not answer", async (_, name) => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const free: number[] = [];
    const away = small.anotherInstance({
      ports: ({ throttles }) => ({
        hasher,
        throttles: {
          ...throttles,
          save: async (...given) => {
            if (free.length === 0) {
              free.push(0);
              throw new Fault("unavailable", "no storage");
            }
            free.push(fillWithUnknownCallers());
            return throttles.save(...given);
          },
        },
      }),
    });
    const { password } = user;
    const fields = { ...user.credentials, otp: hotpKey().otp(0), oldpass: password, newpass: newPassword() };
    const headers = name === "authenticate" ? {} : withSession(session);
    const { status } = await away.post(`/client/${name}`, fields, headers);
    expect([status, free]).toEqual([503, [0, 6]]);
  });
});
