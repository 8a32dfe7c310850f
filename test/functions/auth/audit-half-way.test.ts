import { describe, expect, test } from "vitest";
import { authStore } from "../../../lib/azure/auth/store.ts";
import { Fault } from "../../../lib/fault.ts";
import { hotpKey, newPrefix, type SoftwareKey } from "../../support/auth/software-key.ts";
import { crashingAfter, repeating } from "../../support/auth/store-steps.ts";
import {
  type MadeUser,
  newName,
  newPassword,
  type TestAuth,
  testAuth,
  withSession,
} from "../../support/auth/test-auth.ts";

const auth = await testAuth({ settings: { AUTH_SELF_ASSIGN: "true" } });

const [, tokenId] = auth.token.split("_");

/** What a call works on. Some exist only if a case needs them, because each takes several storage calls to make. */
interface Subjects {
  readonly user: MadeUser;
  /** An OTP key of the user. */
  readonly key: SoftwareKey;
  /** An OTP key that no user has. */
  readonly free: SoftwareKey;
  /** A session of the user that the OTP key has opened. */
  readonly session: string;
  readonly name: string;
  readonly prefix: string;
  readonly password: string;
}

type Need = "key" | "free" | "session";

interface Case {
  readonly needs?: readonly Need[];
  /** Runs on the healthy server before the call. */
  readonly before?: (of: Subjects) => Promise<unknown>;
  readonly act: (on: TestAuth, of: Subjects) => ReturnType<TestAuth["call"]>;
  /** Something that differs once the change is made. */
  readonly state: (of: Subjects) => Promise<unknown>;
  readonly event: string;
}

const user = (of: Subjects) => auth.context.users.view({ by: "id", id: of.user.id });
const row = async (of: Subjects) => (await auth.context.users.find({ by: "id", id: of.user.id }))?.value;
const keyOf = async (prefix: string) => (await auth.context.otpkeys.find(prefix))?.value;
const post = (on: TestAuth, path: string, sent: Record<string, string> = {}, headers = {}) =>
  on.post(path, sent, { "x-request-id": "the.request", ...headers });

const cases: Record<string, Case> = {
  "the creation of a user": {
    act: (on, { name, password }) => post(on, "/core/users", { username: name, password }),
    state: async ({ name }) => (await auth.context.users.find({ by: "name", folded: name }))?.value.id,
    event: "user_created",
  },
  "the deletion of a user": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/delete`),
    state: user,
    event: "user_deleted",
  },
  "a rename": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/rename`, { username: of.name }),
    state: async of => (await user(of))?.name,
    event: "user_renamed",
  },
  "a reset of a password": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/reset`, { password: of.password }),
    state: async of => (await row(of))?.password?.hash,
    event: "password_reset",
  },
  "the end of all sessions": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/sessions/delete`),
    state: async of => (await row(of))?.epoch,
    event: "sessions_ended",
  },
  "an unlock": {
    before: of => auth.post("/client/authenticate", { username: of.user.name, password: "wrong" }),
    act: (on, of) => post(on, `/core/users/${of.user.id}/unlock`),
    state: async of => (await auth.get(`/core/users/${of.user.id}/lock`)).body,
    event: "user_unlocked",
  },
  "an assignment": {
    needs: ["free"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys`, { otpkey: of.free.prefix }),
    state: async of => (await user(of))?.otpkeys,
    event: "otpkey_assigned",
  },
  "an assignment of an unknown prefix": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys`, { otpkey: of.prefix }),
    state: async of => (await user(of))?.otpkeys,
    event: "otpkey_assigned",
  },
  "the OTP key that an assignment creates": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys`, { otpkey: of.prefix }),
    state: of => keyOf(of.prefix),
    event: "otpkey_created",
  },
  "the end of an assignment": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys/${of.key.prefix}/delete`),
    state: async of => (await user(of))?.otpkeys,
    event: "otpkey_unassigned",
  },
  "the deletion of an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/delete`),
    state: of => keyOf(of.key.prefix),
    event: "otpkey_deleted",
  },
  "disabling an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/disable`),
    state: async of => (await keyOf(of.key.prefix))?.enabled,
    event: "otpkey_disabled",
  },
  "the end of the sessions of a disabled OTP key": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/disable`, { end_sessions: "true" }),
    state: of => auth.lives(of.session),
    event: "sessions_ended",
  },
  "enabling an OTP key": {
    needs: ["key"],
    before: of => auth.post(`/core/otpkeys/${of.key.prefix}/disable`),
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/enable`),
    state: async of => (await keyOf(of.key.prefix))?.enabled,
    event: "otpkey_enabled",
  },
  "a temporary code": {
    needs: ["key"],
    act: (on, of) =>
      post(on, `/core/otpkeys/${of.key.prefix}/temporary-code`, {
        valid_until: new Date(Date.now() + 86_400_000).toISOString(),
      }),
    state: async of => (await keyOf(of.key.prefix))?.enabled,
    event: "otpkey_temporary_code_issued",
  },
  "the end of a temporary code": {
    needs: ["key"],
    before: of =>
      auth.post(`/core/otpkeys/${of.key.prefix}/temporary-code`, {
        valid_until: new Date(Date.now() + 86_400_000).toISOString(),
      }),
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/temporary-code/delete`),
    state: async of => (await keyOf(of.key.prefix))?.temporaryCode?.hash,
    event: "otpkey_temporary_code_revoked",
  },
  "a validity": {
    needs: ["key"],
    act: (on, of) =>
      post(on, `/core/otpkeys/${of.key.prefix}/validity`, {
        valid_until: new Date(Date.now() + 86_400_000).toISOString(),
      }),
    state: async of => (await keyOf(of.key.prefix))?.validUntil,
    event: "otpkey_validity_set",
  },
  "an import": {
    act: (on, of) => post(on, "/core/otpkeys", { prefix: of.prefix, kind: "hotp", secret: "00".repeat(20) }),
    state: of => keyOf(of.prefix),
    event: "otpkey_imported",
  },
  "an import with a username": {
    act: (on, of) =>
      post(on, "/core/otpkeys", { prefix: of.prefix, kind: "hotp", secret: "00".repeat(20), username: of.user.name }),
    state: of => keyOf(of.prefix),
    event: "otpkey_imported",
  },
  "the assignment of an import": {
    act: (on, of) =>
      post(on, "/core/otpkeys", { prefix: of.prefix, kind: "hotp", secret: "00".repeat(20), username: of.user.name }),
    state: async of => (await user(of))?.otpkeys,
    event: "otpkey_assigned",
  },
  "another secret": {
    needs: ["key"],
    act: (on, of) =>
      post(on, "/core/otpkeys", { prefix: of.key.prefix, kind: "hotp", secret: "00".repeat(20), replace: "true" }),
    state: async of => (await keyOf(of.key.prefix))?.sealedSecret,
    event: "otpkey_secret_replaced",
  },
  "another secret and counter": {
    needs: ["key"],
    act: (on, of) =>
      post(on, "/core/otpkeys", { ...of.key.fields, secret: "00".repeat(20), counter: "5", replace: "true" }),
    state: async of => (await keyOf(of.key.prefix))?.sealedSecret,
    event: "otpkey_secret_replaced",
  },
  "a counter": {
    needs: ["key"],
    act: (on, of) => post(on, "/core/otpkeys", { ...of.key.fields, counter: "5", replace: "true" }),
    state: async of => (await keyOf(of.key.prefix))?.form,
    event: "otpkey_counter_set",
  },
  "the secret of an OTP key that has none": {
    before: of => auth.post("/core/otpkeys", { prefix: of.prefix }),
    act: (on, of) => post(on, "/core/otpkeys", { prefix: of.prefix, kind: "hotp", secret: "00".repeat(20) }),
    state: async of => (await keyOf(of.prefix))?.sealedSecret,
    event: "otpkey_imported",
  },
  "an attribute of a user": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/attributes`, { key: "a", value: "b" }),
    state: async of => (await user(of))?.attributes,
    event: "attribute_set",
  },
  "the deletion of an attribute": {
    before: of => auth.post(`/core/users/${of.user.id}/attributes`, { key: "a", value: "b" }),
    act: (on, of) => post(on, `/core/users/${of.user.id}/attributes/a/delete`),
    state: async of => (await user(of))?.attributes,
    event: "attribute_deleted",
  },
  "an attribute of an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/attributes`, { key: "a", value: "b" }),
    state: async of => (await auth.get(`/core/otpkeys/${of.key.prefix}/attributes`)).body,
    event: "attribute_set",
  },
  "a change of the own password": {
    needs: ["key", "session"],
    act: (on, of) =>
      post(
        on,
        "/client/password",
        { newpass: of.password, oldpass: of.user.password, otp: of.key.otp(5) },
        withSession(of.session),
      ),
    state: async of => (await row(of))?.password?.hash,
    event: "password_changed",
  },
  "an assignment of an own OTP key": {
    needs: ["key", "free", "session"],
    act: (on, of) =>
      post(on, "/client/otpkeys", { otp: of.free.otp(1), password: of.user.password }, withSession(of.session)),
    state: async of => (await user(of))?.otpkeys,
    event: "self_assignment",
  },
};

async function subjects(needs: readonly Need[] = []): Promise<Subjects> {
  const [key, free] = [hotpKey(), hotpKey()];
  const [owner] = needs.includes("key") ? await auth.makeOwner(key) : [await auth.makeUser()];
  if (needs.includes("free")) await auth.post("/core/otpkeys", free.fields);
  return {
    user: owner,
    key,
    free,
    session: needs.includes("session") ? await auth.logIn(owner, key.otp(0)) : "",
    name: newName(),
    prefix: newPrefix(),
    password: newPassword(),
  };
}

describe("a change has one audit event, also if storage becomes unavailable during the call", () => {
  test.each(Object.entries(cases))("%s", async (_, { needs, before, act, state, event }) => {
    for (let writes = 0, isHit = true; isHit; writes++) {
      const of = await subjects(needs);
      await before?.(of);
      const was = JSON.stringify(await state(of));
      const failing = crashingAfter(auth.deployment.tables, writes, () => new Fault("unavailable", "no storage"));
      const on = auth.anotherInstance({ ports: () => authStore(failing.tables, auth.deployment) });
      const { status } = await act(on, of);
      await failing.dead();
      isHit = failing.isDead();
      const isMade = JSON.stringify(await state(of)) !== was;
      expect(isMade || status === 503, "without a failure the change is made").toBe(true);
      const caller = {
        requestId: "the.request",
        ...(on.events("http").at(-1)?.api === "core" ? { application: tokenId } : { userId: of.user.id }),
      };
      const events = on.events(event).filter(({ outcome = "granted" }) => outcome === "granted");
      expect(events, `after ${writes} writes`).toEqual(isMade ? [expect.objectContaining(caller)] : []);
    }
  });
});

describe("a change has one audit event, and its status, also if the response of a write is lost", () => {
  test.each(Object.entries(cases))("%s", async (_, { needs, before, act, event }) => {
    const seen: object[] = [];
    for (let write = 0, isRepeated = true; isRepeated; write++) {
      const of = await subjects(needs);
      await before?.(of);
      const repeated = repeating(auth.deployment.tables, write);
      const on = auth.anotherInstance({ ports: () => authStore(repeated.tables, auth.deployment) });
      const { status } = await act(on, of);
      seen.push({ status, events: on.events(event).length });
      isRepeated = repeated.isRepeated();
    }
    // The last call had no lost response.
    expect(seen.at(-1)).toMatchObject({ events: 1 });
    expect(new Set(seen.map(each => JSON.stringify(each))).size, JSON.stringify(seen)).toBe(1);
  });
});
