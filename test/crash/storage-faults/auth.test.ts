import { expect, test } from "vitest";
import { openTables } from "../../../lib/platform/azure/tables.ts";
import { days, hours, plus } from "../../../lib/platform/time.ts";
import imported from "../../support/auth/imported-hashes.json" with { type: "json" };
import { hotpKey, type SoftwareKey } from "../../support/auth/software-key.ts";
import { breaches, residue, snapshotOf } from "../../support/auth/store-truth.ts";
import {
  type AuthResponse,
  type MadeUser,
  newName,
  newPassword,
  type TestAuth,
  testAuth,
  withSession,
} from "../../support/auth/test-auth.ts";
import { storageTimeoutMs } from "../../support/storage/fresh-storage.ts";
import { playsOf, startFaultProxy } from "./fault-proxy.ts";

/** What a call is made on: a user with an OTP key and a session, and a name and a password that nobody has. */
interface Play {
  readonly auth: TestAuth;
  readonly user: MadeUser;
  readonly otpkey: SoftwareKey;
  readonly other: SoftwareKey;
  /** Empty where the flow has none. */
  readonly session: string;
  readonly name: string;
  readonly password: string;
  /** What `prepare` has returned. */
  readonly proof: string;
  /** Returns an OTP that was not used. */
  otp(): string;
}

/** Makes one call, and says whether its effect is there. */
interface Flow {
  readonly name: string;
  /** Whether the user has a session. */
  readonly hasSession?: true;
  /** Makes what the call presents, without faults. */
  prepare?(play: Play): Promise<string>;
  call(play: Play): Promise<AuthResponse>;
  /** Throws unless the effect of a call that succeeded is there. */
  holds(play: Play, response: AuthResponse): Promise<void>;
}

const [[, hash] = ["", ""]] = imported as [string, string][];
const view = async ({ auth }: Play, path: string) => (await auth.get(path)).body as Record<string, unknown>;
const attribute = { key: "team", value: "red" };
const hasPassword = async ({ auth, user, password }: Play) =>
  expect((await auth.post(`/core/users/${user.id}/validate`, { password })).body).toMatchObject({
    valid_password: true,
  });
const issueCode = ({ auth, user }: Play) => auth.post(`/core/users/${user.id}/reset`, { issue_code: "true" });
const signedIn = async ({ auth }: Play, { body }: AuthResponse) =>
  expect(await auth.lives((body as { session: string }).session)).toBe(true);

const flows: readonly Flow[] = [
  {
    name: "create a user",
    call: ({ auth, name, password }) => auth.post("/core/users", { username: name, password }),
    holds: async play => {
      await play.auth.logIn(play);
      expect((await play.auth.get("/core/users", { $prefix: play.name })).body).toHaveLength(1);
    },
  },
  {
    name: "import a user",
    call: ({ auth, name }) =>
      auth.call("POST", "/core/users/batch", {
        body: JSON.stringify({ users: [{ username: name, password_hash: hash, attributes: { team: "red" } }] }),
      }),
    holds: async (play, { body }) => {
      expect(body).toMatchObject({ results: [{ status: 201 }] });
      const password = { imported: "sha256-crypt" };
      expect(await view(play, `/core/users/${play.name}`)).toMatchObject({ attributes: { team: "red" }, password });
      expect((await play.auth.get("/core/users", { $prefix: play.name })).body).toHaveLength(1);
    },
  },
  {
    name: "rename a user",
    call: ({ auth, user, name }) => auth.post(`/core/users/${user.id}/rename`, { username: name }),
    holds: async play => {
      expect(await view(play, `/core/users/${play.name}`)).toMatchObject({ id: play.user.id });
      expect((await play.auth.get(`/core/users/${play.user.name}`)).status).toBe(404);
    },
  },
  {
    name: "delete a user",
    hasSession: true,
    call: ({ auth, user }) => auth.call("DELETE", `/core/users/${user.id}`),
    holds: async ({ auth, user, session }) => {
      expect((await auth.get(`/core/users/${user.name}`)).status).toBe(404);
      expect(await auth.lives(session)).toBe(false);
    },
  },
  {
    name: "reset a password",
    hasSession: true,
    call: ({ auth, user, password }) => auth.post(`/core/users/${user.id}/reset`, { password }),
    holds: async play => {
      await hasPassword(play);
      expect(await play.auth.lives(play.session)).toBe(false);
    },
  },
  {
    name: "reset a password with a code",
    hasSession: true,
    call: issueCode,
    holds: async ({ auth, user, password, session, otp }, { body }) => {
      const { code } = body as { code: string };
      const fields = { username: user.name, code, newpass: password, otp: otp() };
      expect((await auth.post("/client/password", fields)).status).toBe(200);
      expect(await auth.lives(session)).toBe(false);
    },
  },
  {
    name: "set a password by a code",
    prepare: async play => ((await issueCode(play)).body as { code: string }).code,
    call: ({ auth, user, password, proof, otp }) =>
      auth.post("/client/password", { username: user.name, code: proof, newpass: password, otp: otp() }),
    holds: hasPassword,
  },
  {
    name: "set a password by a token",
    prepare: async ({ auth, user, otp }) => {
      await auth.post(`/core/users/${user.id}/reset`, { password: user.password, must_change: "true" });
      const { body } = await auth.post("/client/login", { ...user.credentials, otp: otp() });
      return (body as { token: string }).token;
    },
    call: ({ auth, password, proof }) => auth.post("/client/password", { token: proof, newpass: password }),
    holds: hasPassword,
  },
  {
    name: "disable a user",
    hasSession: true,
    call: ({ auth, user }) => auth.post(`/core/users/${user.id}/disable`),
    holds: async play => {
      expect(await view(play, `/core/users/${play.user.id}`)).toMatchObject({ enabled: false });
      expect(await play.auth.lives(play.session)).toBe(false);
    },
  },
  {
    name: "end sessions",
    hasSession: true,
    call: ({ auth, user }) => auth.post(`/core/users/${user.id}/sessions/delete`),
    holds: async ({ auth, session }) => expect(await auth.lives(session)).toBe(false),
  },
  {
    name: "unlock a user",
    call: ({ auth, user }) => auth.post(`/core/users/${user.id}/unlock`),
    holds: async play => expect(await view(play, `/core/users/${play.user.id}/lock`)).toMatchObject({ failures: 0 }),
  },
  {
    name: "set an attribute of a user",
    call: ({ auth, user }) => auth.post(`/core/users/${user.id}/attributes`, attribute),
    holds: async play => {
      expect((await play.auth.get(`/core/users/${play.user.id}/attributes/team`)).body).toBe("red");
      expect((await play.auth.get("/core/users", { team: "red" })).body).toContainEqual({
        id: play.user.id,
        name: play.user.name,
      });
    },
  },
  {
    name: "set an attribute of an OTP key",
    call: ({ auth, otpkey }) => auth.post(`/core/otpkeys/${otpkey.prefix}/attributes`, attribute),
    holds: async ({ auth, otpkey }) =>
      expect((await auth.get(`/core/otpkeys/${otpkey.prefix}/attributes/team`)).body).toBe("red"),
  },
  {
    name: "import an OTP key",
    call: ({ auth, other }) => auth.post("/core/otpkeys", other.fields),
    holds: async play =>
      expect(await view(play, `/core/otpkeys/${play.other.prefix}`)).toMatchObject({ enabled: true }),
  },
  {
    name: "assign an OTP key",
    call: ({ auth, user, other }) => auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: other.prefix }),
    holds: async ({ auth, user, other }) => {
      expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toContain(other.prefix);
      expect((await auth.get("/core/users", { otpkey: other.prefix })).body).toHaveLength(1);
    },
  },
  {
    name: "unassign an OTP key",
    call: ({ auth, user, otpkey }) => auth.call("DELETE", `/core/users/${user.id}/otpkeys/${otpkey.prefix}`),
    holds: async ({ auth, user, otpkey }) => {
      expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toEqual([]);
      expect((await auth.get("/core/users", { otpkey: otpkey.prefix })).body).toEqual([]);
    },
  },
  {
    name: "delete an OTP key",
    call: ({ auth, otpkey }) => auth.call("DELETE", `/core/otpkeys/${otpkey.prefix}`),
    holds: async ({ auth, user, otpkey }) => {
      expect((await auth.get(`/core/otpkeys/${otpkey.prefix}`)).status).toBe(404);
      expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toEqual([]);
    },
  },
  {
    name: "disable an OTP key and end its sessions",
    hasSession: true,
    call: ({ auth, otpkey }) => auth.post(`/core/otpkeys/${otpkey.prefix}/disable`, { end_sessions: "true" }),
    holds: async play => {
      expect(await view(play, `/core/otpkeys/${play.otpkey.prefix}`)).toMatchObject({ enabled: false });
      expect(await play.auth.lives(play.session)).toBe(false);
    },
  },
  {
    name: "issue a temporary code",
    call: ({ auth, otpkey }) =>
      auth.post(`/core/otpkeys/${otpkey.prefix}/temporary-code`, {
        valid_until: plus(auth.now(), hours(1)),
      }),
    holds: async ({ auth, user }, { body }) => {
      await auth.logIn(user, (body as { code: string }).code);
    },
  },
  {
    name: "sign in with an OTP",
    call: ({ auth, user, otp }) => auth.post("/client/login", { ...user.credentials, otp: otp() }),
    holds: signedIn,
  },
  {
    name: "validate an OTP",
    call: ({ auth, user, otp }) =>
      auth.post(`/core/users/${user.id}/validate`, { password: user.password, otp: otp() }),
    holds: async (_, { body }) => expect(body).toEqual({ valid_password: true, valid_otp: true }),
  },
  {
    name: "change a password",
    hasSession: true,
    call: ({ auth, user, session, password, otp }) =>
      auth.post("/client/password", { oldpass: user.password, newpass: password, otp: otp() }, withSession(session)),
    holds: async play => {
      await hasPassword(play);
      expect(await play.auth.lives(play.session)).toBe(true);
    },
  },
  {
    name: "log out",
    hasSession: true,
    call: ({ auth, session }) => auth.post("/client/logout", {}, withSession(session)),
    holds: async ({ auth, session }) => expect(await auth.lives(session)).toBe(false),
  },
  {
    name: "view a session",
    hasSession: true,
    call: ({ auth, session }) => auth.get("/client/status", {}, withSession(session)),
    holds: async ({ user }, { body }) => expect(body).toMatchObject({ user_id: user.id }),
  },
];

/** What the call answers that is sent again after a success. */
const doneAlready: Readonly<Record<string, number>> = {
  "create a user": 409,
  "delete a user": 404,
  "import an OTP key": 200,
  "change a password": 401,
  "set a password by a code": 401,
  "set a password by a token": 401,
  "unassign an OTP key": 404,
  "delete an OTP key": 404,
  "log out": 401,
};

const newPlay = async (healthy: TestAuth, auth: TestAuth, { prepare, hasSession }: Flow): Promise<Play> => {
  const [user, otpkey] = await healthy.makeOwner(hotpKey());
  let counter = 0;
  const otp = () => otpkey.otp(counter++);
  const session = hasSession ? await healthy.logIn(user, otp()) : "";
  const given = { user, otpkey, other: hotpKey(), session, name: newName(), password: newPassword(), proof: "", otp };
  return { ...given, auth, ...(prepare && { proof: await prepare({ ...given, auth: healthy }) }) };
};

test.concurrent.for(flows)(
  "$name: a storage call that is lost, unanswered, repeated or late changes neither the result nor what is stored",
  { timeout: 300_000 },
  async (flow, { onTestFinished }) => {
    const { name, call, holds } = flow;
    const healthy = await testAuth();
    const proxy = await startFaultProxy(healthy.storage.tableUrl);
    onTestFinished(() => proxy.close());
    const connectionString = proxy.through(healthy.storage.connectionString);
    const tables = openTables({ connectionString, timeoutMs: storageTimeoutMs });
    const auth = healthy.anotherInstance({ tables: () => tables });
    const rows = () =>
      snapshotOf(openTables({ connectionString: healthy.storage.connectionString, timeoutMs: storageTimeoutMs }));

    const first = await newPlay(healthy, auth, flow);
    await call(first);
    const counted = await newPlay(healthy, auth, flow);
    proxy.arm();
    expect((await call(counted)).status).toBeLessThan(300);
    const calls = proxy.calls();
    expect(calls.length).toBeGreaterThan(0);

    const wrong: string[] = [];
    for (const [number, fault] of playsOf(calls)) {
      const play = await newPlay(healthy, auth, flow);
      proxy.arm(fault, number);
      const response = await call(play);
      proxy.arm();
      await proxy.settled();
      try {
        expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
        await holds({ ...play, auth: healthy }, response);
        const again = await call({ ...play, auth: healthy });
        expect(again.status, `again: ${JSON.stringify(again.body)}`).toBe(doneAlready[name] ?? response.status);
      } catch (error) {
        wrong.push(`${name}, call ${number + 1} ${fault}: ${(error as Error).message}`);
      }
    }
    expect([...wrong, ...breaches(await rows())]).toEqual([]);

    for (const { id } of (await healthy.get("/core/users")).body as { id: number }[])
      await healthy.call("DELETE", `/core/users/${id}`);
    for (const { prefix } of (await healthy.get("/core/otpkeys")).body as { prefix: string }[])
      await healthy.call("DELETE", `/core/otpkeys/${prefix}`);
    for (let n = 0; n < 2; n++) {
      healthy.advance(days(40));
      await healthy.context.cleanUp();
    }
    expect(residue(await rows())).toEqual([]);
  },
);
