import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { days, hours } from "../../../../lib/platform/time.ts";
import { newPrefix, type SoftwareKey, yubicoKey } from "../../../support/auth/software-key.ts";
import {
  newPassword,
  replacing,
  type TestAuth,
  testAuth,
  validationKey,
  withSession,
} from "../../../support/auth/test-auth.ts";
import {
  hasYubiserver,
  type SimulatedServer,
  simulatedServer,
  type ValidationServer,
  yubiserver,
} from "../../../support/auth/validation-server.ts";
import { whereInstalled } from "../../../support/where-installed.ts";

const plain = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
const user = await plain.makeUser();

const asking = (...servers: readonly ValidationServer[]) =>
  plain.anotherInstance({
    settings: {
      OTP_VALIDATION_URLS: servers.map(({ url }) => url).join(","),
      OTP_VALIDATION_CLIENT_ID: servers[0]?.clientId ?? "1",
    },
  });

/** A key that only the server knows, assigned to the user here. */
async function remoteKey(on: TestAuth, ...servers: readonly ValidationServer[]): Promise<SoftwareKey> {
  const key = yubicoKey({ prefix: newPrefix() });
  for (const server of servers) server.add(key);
  const { status } = await on.post(`/core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
  expect(status).toBe(204);
  return key;
}

const authenticate = async (on: TestAuth, otp: string) =>
  (await on.post("/client/authenticate", { ...user.credentials, otp })).body;
const login = (on: TestAuth, otp: string) => on.post("/client/login", { ...user.credentials, otp });

const servers = [
  ["a simulated validation server", true, simulatedServer],
  [whereInstalled("Debian's yubiserver", "it", hasYubiserver()), hasYubiserver(), yubiserver],
] as const;

describe.each(servers)("kind `remote` with %s", (_, isThere, start) => {
  const test = it.skipIf(!isThere);
  let server: ValidationServer;
  let auth: TestAuth;
  beforeAll(async () => {
    if (!isThere) return undefined;
    server = await start(validationKey);
    auth = asking(server);
    return () => server.close();
  });

  test("an OTP that the server takes signs in once", async () => {
    const key = await remoteKey(auth, server);
    const { status, body } = await login(auth, key.otp(5));
    expect({ status, body }).toEqual({ status: 200, body: { session: expect.any(String) } });
    const headers = withSession((body as { session: string }).session);
    expect((await auth.get("/client/status", {}, headers)).body).toMatchObject({ prefix: key.prefix });
  });

  test("one that was used here, or that the server calls replayed or wrong, is refused", async () => {
    const key = await remoteKey(auth, server);
    const [first, older] = [key.otp(5), key.otp(4)];
    expect(await authenticate(auth, first)).toBe(true);
    for (const otp of [first, first.toUpperCase(), older, yubicoKey({ prefix: key.prefix }).otp(9)]) {
      expect(await authenticate(auth, otp)).toBe(false);
    }
    expect(await authenticate(auth, key.otp(6).toUpperCase())).toBe(true);
    const unknown = yubicoKey();
    await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: unknown.prefix });
    expect(await authenticate(auth, unknown.otp(1))).toBe(false);
  });
});

describe("the responses of validation servers", () => {
  const start = async (): Promise<SimulatedServer> => {
    const server = await simulatedServer(validationKey);
    onTestFinished(() => server.close());
    return server;
  };
  /** A host that asks a server of its own, and a key that only the server knows. */
  const begin = async () => {
    const server = await start();
    const auth = asking(server);
    return { server, auth, key: await remoteKey(auth, server) };
  };
  const failuresOf = async ({ prefix }: SoftwareKey) => (await plain.context.otpkeys.find(prefix))?.value.failures;

  it("an OTP that was typed under Dvorak is sent as the key sent it, and is the same OTP", async () => {
    const { server, auth, key } = await begin();
    const otp = key.otp(1);
    const typed = otp.replace(/./g, letter => "jxe.uidchtnbpygk".charAt("cbdefghijklnrtuv".indexOf(letter)));
    expect(await authenticate(auth, typed)).toBe(true);
    expect([await authenticate(auth, otp), await authenticate(auth, typed)]).toEqual([false, false]);
    expect(server.requests()).toHaveLength(1);
  });

  it("a time-out leaves it spent and counts against no key", async () => {
    const { server, auth, key } = await begin();
    const otp = key.otp(1);
    server.fail({ kind: "hang" });
    const hurried = auth.anotherInstance({ limits: { validationCallMs: 100 } });
    expect((await login(hurried, otp)).status).toBe(503);
    expect(hurried.events("otp_validation").at(-1)).toMatchObject({ prefix: key.prefix, outcome: "unavailable" });
    expect(await failuresOf(key)).toBe(0);
    expect(await authenticate(auth, otp)).toBe(false);
    expect(server.requests()).toHaveLength(1);
    expect(await failuresOf(key)).toBe(1);
    expect(await authenticate(auth, key.otp(2))).toBe(true);
    expect(await failuresOf(key)).toBe(0);
  });

  it("a server's verdict is kept, also if the key's row was written meanwhile", async () => {
    const { auth, key } = await begin();
    expect(await authenticate(auth, `${key.prefix}${"c".repeat(32)}`)).toBe(false);
    expect(await failuresOf(key)).toBe(1);
    let saves = 0;
    const racing = auth.anotherInstance({
      ports: replacing("otpkeys", otpkeys => ({
        save: async (stored, next) => {
          if (saves++ === 0) await otpkeys.save(stored, stored.value);
          return otpkeys.save(stored, next);
        },
      })),
    });
    expect(await authenticate(racing, key.otp(1))).toBe(true);
    expect(saves).toBe(2);
    expect(await failuresOf(key)).toBe(0);
  });

  it("a disabled key's OTP is refused and used up", async () => {
    const { auth, key } = await begin();
    const otp = key.otp(1);
    for (const change of ["disable", "enable"]) {
      await auth.post(`/core/otpkeys/${key.prefix}/${change}`);
      expect(await authenticate(auth, otp)).toBe(false);
    }
    expect(await authenticate(auth, key.otp(2))).toBe(true);
  });

  it("an OTP of a key that is disabled during the call of a server signs no user in", async () => {
    const { server, auth, key } = await begin();
    const disabling = auth.anotherInstance({
      ports: replacing("otpkeys", otpkeys => ({
        spendOtp: async (...given) => {
          const isFirst = await otpkeys.spendOtp(...given);
          await plain.post(`/core/otpkeys/${key.prefix}/disable`);
          return isFirst;
        },
      })),
    });
    expect((await login(disabling, key.otp(1))).status).toBe(401);
    expect(server.requests()).toHaveLength(1);
  });

  it("where none is configured any more, such a key's OTPs are never valid", async () => {
    const server = await start();
    const key = await remoteKey(asking(server), server);
    expect((await login(plain, key.otp(1))).status).toBe(503);
  });

  it("spent OTPs are forgotten after 30 days, by the timer", async () => {
    const { server, auth, key } = await begin();
    const otp = key.otp(1);
    expect(await authenticate(auth, otp)).toBe(true);
    plain.advance(days(29));
    const before = await plain.context.cleanUp();
    expect(await authenticate(auth, otp)).toBe(false);
    expect(server.requests()).toHaveLength(1);
    plain.advance(days(1) + hours(1));
    const { spentOtps } = await plain.context.cleanUp();
    expect(spentOtps).toBeGreaterThan(before.spentOtps);
    expect(await authenticate(auth, otp)).toBe(false);
    expect(server.requests()).toHaveLength(2);
  });
});

describe("while no validation server answers", () => {
  const unavailable = { error: "OTPs cannot be checked at the moment. Try again later with a new OTP." };

  /** A user with a key, and a server that fails until it is repaired. */
  async function outage() {
    const server = await simulatedServer(validationKey);
    onTestFinished(() => server.close());
    const auth = (await testAuth()).anotherInstance({
      settings: {
        OTP_VALIDATION_URLS: server.url,
        OTP_VALIDATION_CLIENT_ID: server.clientId,
        AUTH_IDENTIFY_BY_OTP: "true",
        AUTH_ADDRESS_LIMIT: "1",
      },
    });
    const owner = await auth.makeUser();
    const key = yubicoKey();
    server.add(key);
    await auth.giveKey(owner, { ...key, fields: { prefix: key.prefix, kind: "remote" } });
    let use = 1;
    server.fail({ kind: "refuse", status: 500, times: 1000 });
    return { auth, owner, server, next: () => key.otp(use++), key };
  }

  const address = { "x-forwarded-for": "203.0.113.77, 192.0.2.1" };

  it("login, authenticate and validate answer 503 with Retry-After, whether or not the password is right; nothing counts", async () => {
    const { auth, owner, server, next, key } = await outage();
    const { name: username, password } = owner;
    const calls = [
      ...["login", "authenticate"].flatMap(path =>
        [
          { username, password },
          { username, password: "wrong" },
          { username },
          { password },
          { password: "wrong" },
        ].map(fields => [`/client/${path}`, fields] as const),
      ),
      [`/core/users/${owner.id}/validate`, { password }],
      [`/core/users/${owner.id}/validate`, { password: "wrong" }],
    ] as const;
    for (const [path, fields] of [...calls, ...calls]) {
      const { status, headers, body } = await auth.post(path, { ...fields, otp: next() }, address);
      const wait = headers.get("retry-after");
      expect({ status, body, wait }, path).toEqual({ status: 503, body: unavailable, wait: "10" });
      const event = auth.events(path.startsWith("/core") ? "validation" : "authentication").at(-1);
      expect(event).toMatchObject({ userId: owner.id, outcome: "undecided", reason: "unavailable" });
    }
    expect((await auth.context.otpkeys.find(key.prefix))?.value.failures).toBe(0);
    server.clearFaults();
    for (const fields of [{ username }, {}]) {
      const { status } = await auth.post("/client/login", { ...fields, password, otp: next() }, address);
      expect(status).toBe(200);
    }
  });

  it("a password change answers 503 and changes nothing", async () => {
    const { auth, owner, server, next } = await outage();
    server.clearFaults();
    const session = await auth.logIn(owner, next());
    server.fail({ kind: "refuse", status: 500, times: 1000 });
    const change = { newpass: newPassword(), oldpass: owner.password };
    const { status, body } = await auth.post("/client/password", { ...change, otp: next() }, withSession(session));
    expect({ status, body }).toEqual({ status: 503, body: unavailable });
    server.clearFaults();
    expect((await auth.post("/client/password", { ...change, otp: next() }, withSession(session))).status).toBe(200);
  });

  it("a right and a wrong password cost the same: storage calls, hashes and requests", async () => {
    const { auth, owner, server, next } = await outage();
    await auth.post("/client/login", { username: owner.name, password: "x", otp: next() });
    const work = async (password: string) => {
      const [hashes, requests] = [auth.hashes(), server.requests().length];
      const fields = { username: owner.name, password, otp: next() };
      const { total, sequential } = await auth.counted(() => auth.post("/client/login", fields));
      return { total, sequential, hashes: auth.hashes() - hashes, requests: server.requests().length - requests };
    };
    const right = await work(owner.password);
    expect(await work("wrong")).toEqual(right);
    expect(right).toMatchObject({ hashes: 1, requests: 1 });
  });

  it("a key that is disabled is refused as ever: its OTPs are valid nowhere", async () => {
    const { auth, owner, next, key } = await outage();
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    expect((await auth.post("/client/login", { ...owner.credentials, otp: next() })).status).toBe(401);
  });
});
