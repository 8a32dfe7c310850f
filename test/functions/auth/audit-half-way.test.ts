import { describe, expect, test } from "vitest";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import { hotpKey, newPrefix, type SoftwareKey } from "../../support/auth/software-key.ts";
import { faultAt } from "../../support/auth/store-steps.ts";
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
  /** For each audit event, something that differs once its change is made. */
  readonly events: Readonly<Record<string, (of: Subjects) => Promise<unknown>>>;
}

const user = (of: Subjects) => auth.context.users.view({ by: "id", id: of.user.id });
const row = async (of: Subjects) => (await auth.context.users.find({ by: "id", id: of.user.id }))?.value;
const keyOf = async (prefix: string) => (await auth.context.otpkeys.find(prefix))?.value;
const post = (on: TestAuth, path: string, sent: Record<string, string> = {}, headers = {}) =>
  on.post(path, sent, { "x-request-id": "the.request", ...headers });

const later = { valid_until: new Date(Date.now() + 86_400_000).toISOString() };
const hotp = { kind: "hotp", secret: "00".repeat(20) };

const cases: Record<string, Case> = {
  "the creation of a user": {
    act: (on, { name, password }) => post(on, "/core/users", { username: name, password }),
    events: {
      user_created: async ({ name }) => (await auth.context.users.find({ by: "name", folded: name }))?.value.id,
    },
  },
  "the deletion of a user": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/delete`),
    events: { user_deleted: user },
  },
  "a rename": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/rename`, { username: of.name }),
    events: { user_renamed: async of => (await user(of))?.name },
  },
  "a reset of a password": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/reset`, { password: of.password }),
    events: { password_reset: async of => (await row(of))?.password?.hash },
  },
  "the end of all sessions": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/sessions/delete`),
    events: { sessions_ended: async of => (await row(of))?.epoch },
  },
  "an unlock": {
    before: of => auth.post("/client/authenticate", { username: of.user.name, password: "wrong" }),
    act: (on, of) => post(on, `/core/users/${of.user.id}/unlock`),
    events: { user_unlocked: async of => (await auth.get(`/core/users/${of.user.id}/lock`)).body },
  },
  "an assignment": {
    needs: ["free"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys`, { otpkey: of.free.prefix }),
    events: { otpkey_assigned: async of => (await user(of))?.otpkeys },
  },
  "an assignment of an unknown prefix": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys`, { otpkey: of.prefix }),
    events: {
      otpkey_created: of => keyOf(of.prefix),
      otpkey_assigned: async of => (await user(of))?.otpkeys,
    },
  },
  "the end of an assignment": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/users/${of.user.id}/otpkeys/${of.key.prefix}/delete`),
    events: { otpkey_unassigned: async of => (await user(of))?.otpkeys },
  },
  "the deletion of an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/delete`),
    events: { otpkey_deleted: of => keyOf(of.key.prefix) },
  },
  "disabling an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/disable`),
    events: { otpkey_disabled: async of => (await keyOf(of.key.prefix))?.enabled },
  },
  "the end of the sessions of a disabled OTP key": {
    needs: ["key", "session"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/disable`, { end_sessions: "true" }),
    events: { sessions_ended: of => auth.lives(of.session) },
  },
  "enabling an OTP key": {
    needs: ["key"],
    before: of => auth.post(`/core/otpkeys/${of.key.prefix}/disable`),
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/enable`),
    events: { otpkey_enabled: async of => (await keyOf(of.key.prefix))?.enabled },
  },
  "a temporary code": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/temporary-code`, later),
    events: { otpkey_temporary_code_issued: async of => (await keyOf(of.key.prefix))?.enabled },
  },
  "the end of a temporary code": {
    needs: ["key"],
    before: of => auth.post(`/core/otpkeys/${of.key.prefix}/temporary-code`, later),
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/temporary-code/delete`),
    events: { otpkey_temporary_code_revoked: async of => (await keyOf(of.key.prefix))?.temporaryCode?.hash },
  },
  "a validity": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/validity`, later),
    events: { otpkey_validity_set: async of => (await keyOf(of.key.prefix))?.validUntil },
  },
  "an import": {
    act: (on, of) => post(on, "/core/otpkeys", { prefix: of.prefix, ...hotp }),
    events: { otpkey_imported: of => keyOf(of.prefix) },
  },
  "an import with a username": {
    act: (on, of) => post(on, "/core/otpkeys", { prefix: of.prefix, ...hotp, username: of.user.name }),
    events: {
      otpkey_imported: of => keyOf(of.prefix),
      otpkey_assigned: async of => (await user(of))?.otpkeys,
    },
  },
  "an import of a list": {
    act: (on, of) => {
      const otpkeys = [{ prefix: of.prefix, ...hotp }];
      const headers = { "x-request-id": "the.request" };
      return on.call("POST", "/core/otpkeys/batch", { headers, body: JSON.stringify({ otpkeys }) });
    },
    events: { otpkey_imported: of => keyOf(of.prefix) },
  },
  "another secret and counter": {
    needs: ["key"],
    act: (on, of) =>
      post(on, "/core/otpkeys", { ...of.key.fields, secret: "00".repeat(20), counter: "5", replace: "true" }),
    events: { otpkey_secret_replaced: async of => (await keyOf(of.key.prefix))?.sealedSecret },
  },
  "a counter": {
    needs: ["key"],
    act: (on, of) => post(on, "/core/otpkeys", { ...of.key.fields, counter: "5", replace: "true" }),
    events: { otpkey_counter_set: async of => (await keyOf(of.key.prefix))?.parameters },
  },
  "the secret of an OTP key that has none": {
    before: of => auth.post("/core/otpkeys", { prefix: of.prefix }),
    act: (on, of) => post(on, "/core/otpkeys", { prefix: of.prefix, ...hotp }),
    events: { otpkey_imported: async of => (await keyOf(of.prefix))?.sealedSecret },
  },
  "an attribute of a user": {
    act: (on, of) => post(on, `/core/users/${of.user.id}/attributes`, { key: "a", value: "b" }),
    events: { attribute_set: async of => (await user(of))?.attributes },
  },
  "the deletion of an attribute": {
    before: of => auth.post(`/core/users/${of.user.id}/attributes`, { key: "a", value: "b" }),
    act: (on, of) => post(on, `/core/users/${of.user.id}/attributes/a/delete`),
    events: { attribute_deleted: async of => (await user(of))?.attributes },
  },
  "an attribute of an OTP key": {
    needs: ["key"],
    act: (on, of) => post(on, `/core/otpkeys/${of.key.prefix}/attributes`, { key: "a", value: "b" }),
    events: { attribute_set: async of => (await auth.get(`/core/otpkeys/${of.key.prefix}/attributes`)).body },
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
    events: { password_changed: async of => (await row(of))?.password?.hash },
  },
  "an assignment of an own OTP key": {
    needs: ["key", "free", "session"],
    act: (on, of) =>
      post(on, "/client/otpkeys", { otp: of.free.otp(1), password: of.user.password }, withSession(of.session)),
    events: { self_assignment: async of => (await user(of))?.otpkeys },
  },
};

/** A host on these tables. It does not wait: what it waits for is no part of these tests. */
const hostOn = (tables: Tables): TestAuth =>
  auth.anotherInstance({ ports: () => ({ ...auth.storeOn(tables), sleep: async () => {} }) });

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

const statesOf = async ({ events }: Case, of: Subjects): Promise<ReadonlyMap<string, string | undefined>> =>
  new Map(
    await Promise.all(
      Object.entries(events).map(async ([event, state]) => [event, JSON.stringify(await state(of))] as const),
    ),
  );

/** Makes the call once for each of its writes, which then has the fault. */
async function atEachWrite(
  { needs, before, act }: Case,
  fault: "crash" | "unanswered" | "repeated",
  prepare: (of: Subjects) => Promise<unknown>,
  check: (
    on: TestAuth,
    of: Subjects,
    status: number,
    at: { readonly write: number; readonly isHit: boolean },
  ) => unknown,
) {
  for (let write = 0, isHit = true; isHit; write++) {
    const of = await subjects(needs);
    await before?.(of);
    await prepare(of);
    const failing = faultAt(auth.deployment.tables, write, fault);
    const on = hostOn(failing.tables);
    const { status } = await act(on, of);
    await failing.settled();
    isHit = failing.isHit();
    await check(on, of, status, { write, isHit });
  }
}

describe.each([
  ["storage becomes unavailable during the call", "crash"],
  ["its write is made and not answered", "unanswered"],
] as const)("a change has one audit event if it is made, else none, also if %s", (_, fault) => {
  test.each(Object.entries(cases))("%s", async (_, each) => {
    let was: ReadonlyMap<string, string | undefined>;
    const prepare = async (of: Subjects) => {
      was = await statesOf(each, of);
    };
    await atEachWrite(each, fault, prepare, async (on, of, status, { write }) => {
      const who = on.events("http").at(-1)?.api === "core" ? { application: tokenId } : { userId: of.user.id };
      const caller = { requestId: "the.request", ...who };
      const about = [of.user.id, of.name, of.key.prefix, of.free.prefix, of.prefix];
      for (const [event, state] of await statesOf(each, of)) {
        const isMade = state !== was.get(event);
        expect(isMade || status === 503, "without a failure the change is made").toBe(true);
        const events = on.events(event).filter(({ outcome = "granted" }) => outcome === "granted");
        expect(events, `${event}, write ${write}`).toEqual(isMade ? [expect.objectContaining(caller)] : []);
        for (const each of events) expect(about.some(one => JSON.stringify(each).includes(String(one)))).toBe(true);
      }
    });
  });
});

describe("a change has one audit event, and its status, also if the response of a write is lost", () => {
  test.each(Object.entries(cases))("%s", async (_, each) => {
    const names = Object.keys(each.events);
    const seen: object[] = [];
    await atEachWrite(
      each,
      "repeated",
      async () => {},
      (on, __, status) => seen.push({ status, counts: names.map(event => on.events(event).length) }),
    );
    // The last call had no lost response.
    expect(seen.at(-1)).toMatchObject({ counts: names.map(() => 1) });
    expect(new Set(seen.map(each => JSON.stringify(each))).size, JSON.stringify(seen)).toBe(1);
  });
});

test("what remains of a change that is made is logged, and the call succeeds", async () => {
  const deletion = cases["the deletion of a user"] as Case;
  const logged = () => auth.events("change_not_finished").length;
  let before = 0;
  await atEachWrite(
    deletion,
    "crash",
    async () => {
      before = logged();
    },
    async (_, of, status, { isHit }) => {
      const isMade = (await user(of)) === undefined;
      expect([status, logged() - before]).toEqual(isMade ? [204, isHit ? 1 : 0] : [503, 0]);
    },
  );
});
