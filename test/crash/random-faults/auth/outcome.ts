import { openTables } from "../../../../lib/platform/azure/tables.ts";
import { days } from "../../../../lib/platform/time.ts";
import { breaches, residue, snapshotOf } from "../../../support/auth/store-truth.ts";
import { type TestAuth, withSession } from "../../../support/auth/test-auth.ts";
import { storageTimeoutMs } from "../../../support/storage/fresh-storage.ts";
import { attributeKeys, attributeValues, type KnownState, type KnownUser, usernames } from "./known-state.ts";

interface UserView {
  readonly id: number;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly otpkeys: readonly string[];
}

/** Returns a sentence for each violation after the faults have ended. */
export async function wrongOutcomes(
  known: KnownState,
  auth: TestAuth,
  hosts: readonly TestAuth[],
): Promise<readonly string[]> {
  const users = await list<{ id: number; name: string }>(auth, "/core/users");
  return [
    ...known.wrong,
    ...(await Promise.all(known.users.map(user => wrongUser(user, known, auth)))).flat(),
    ...unknownUsers(users, known),
    ...(await wrongOtpkeys(known, auth)),
    ...(await wrongSessions(known, auth)),
    ...breaches(await readRows(auth)),
    ...(await unusableOtpKeys(known, users, auth)),
    ...(await leftAfterDeletion(known, auth)),
    ...[auth, ...hosts].flatMap(({ errors }) => errors),
  ];
}

const list = async <T>(auth: TestAuth, path: string, filter: Readonly<Record<string, string>> = {}) =>
  (await auth.get(path, filter)).body as readonly T[];

async function wrongUser(user: KnownUser, known: KnownState, auth: TestAuth): Promise<readonly string[]> {
  const { id } = user;
  const { status, body } = await auth.get(`/core/users/${id}`);
  const exists = status === 200;
  const wrong: string[] = [];
  const check = <T>(what: string, found: T, possible: readonly T[] = []) => {
    if (!possible.includes(found)) wrong.push(`${what} of user ${id} is ${found}, not ${possible.join(" or ")}`);
  };
  check("the existence", exists, user.exists.possible());
  const isListed = async (filter: Readonly<Record<string, string>>) =>
    (await list<{ id: number }>(auth, "/core/users", filter)).some(each => each.id === id);
  check("the list entry", await isListed({}), [exists]);
  if (!exists) return wrong;
  const { name, attributes, otpkeys } = body as UserView;
  check("the name", name, user.name.possible());
  check("the list entry by name", await isListed({ $prefix: name }), [true]);
  for (const key of attributeKeys) {
    check(key, attributes[key] ?? null, user.attributes.get(key)?.possible());
    for (const value of attributeValues)
      check(`the match of ${key}=${value}`, await isListed({ [key]: value }), [attributes[key] === value]);
  }
  for (const { prefix } of known.otpkeys) {
    check(`the assignment of ${prefix}`, otpkeys.includes(prefix), user.otpkeys.get(prefix)?.possible());
    check(`the match of ${prefix}`, await isListed({ otpkey: prefix }), [otpkeys.includes(prefix)]);
  }
  const valid: string[] = [];
  for (const password of known.passwords) {
    const { body: result } = await auth.post(`/core/users/${id}/validate`, { password });
    if ((result as { valid_password: boolean }).valid_password) valid.push(password);
  }
  check("the number of passwords", valid.length, [1]);
  check("the password", valid[0], user.password.possible());
  return wrong;
}

/** Checks that each user comes from a create, and that no two users share a name. */
function unknownUsers(users: readonly { id: number; name: string }[], known: KnownState): readonly string[] {
  const unknown = users.filter(({ id }) => known.users.every(user => user.id !== id));
  const wrong = unknown.length > known.unknownCreates.size ? [`${unknown.length} users that no call created`] : [];
  const names = new Set(users.map(({ name }) => name));
  return names.size < users.length ? [...wrong, "two users have one name"] : wrong;
}

async function wrongOtpkeys({ otpkeys }: KnownState, auth: TestAuth): Promise<readonly string[]> {
  const listed = await list<{ prefix: string; enabled: boolean }>(auth, "/core/otpkeys");
  const wrong: string[] = [];
  for (const { prefix, exists, enabled } of otpkeys) {
    const { status, body } = await auth.get(`/core/otpkeys/${prefix}`);
    const entry = listed.find(each => each.prefix === prefix);
    if ((status === 200) !== (entry !== undefined))
      wrong.push(`${prefix} answers ${status}, and is listed: ${entry !== undefined}`);
    const possible = exists.possible();
    if (status === 404 && !possible.includes("absent")) wrong.push(`${prefix} is gone`);
    if (status !== 200) continue;
    if (possible.every(each => each === "absent")) wrong.push(`${prefix} is there`);
    const view = body as { enabled: boolean };
    if (entry?.enabled !== view.enabled || !enabled.possible().includes(view.enabled))
      wrong.push(`${prefix} is enabled: ${view.enabled}, and listed as ${entry?.enabled}`);
  }
  return wrong;
}

async function wrongSessions({ sessions }: KnownState, auth: TestAuth): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { value, user, isAlive } of sessions) {
    const { status } = await auth.call("GET", "/client/status", { headers: withSession(value) });
    if (!isAlive.possible().includes(status === 200)) wrong.push(`a session of ${user.id} answers ${status}`);
  }
  return wrong;
}

const readRows = ({ storage }: TestAuth) =>
  snapshotOf(openTables({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs }));

/** Checks that every user can be given every OTP key and can sign in with it. */
async function unusableOtpKeys(known: KnownState, users: readonly { id: number; name: string }[], auth: TestAuth) {
  const wrong: string[] = [];
  for (const { id, name } of users) {
    for (const { prefix, software } of known.otpkeys) {
      const password = known.newPassword();
      const steps = [
        await auth.post(`/core/users/${id}/unlock`),
        await auth.post(`/core/users/${id}/reset`, { password }),
        await auth.post("/core/otpkeys", { ...software.fields, counter: "1000", replace: "true" }),
        await auth.post(`/core/otpkeys/${prefix}/enable`),
        await auth.post(`/core/users/${id}/otpkeys`, { otpkey: prefix }),
        await auth.post("/client/login", { username: name, password, otp: software.otp(1000) }),
      ];
      const statuses = steps.map(({ status }) => status);
      if (statuses.some(status => status >= 400))
        wrong.push(`${name} cannot get and use ${prefix}: ${statuses.join()}`);
    }
  }
  return wrong;
}

/** Deletes everything. Checks that a new user with an old name has no old data, and that no row of the deleted users is left. */
async function leftAfterDeletion({ otpkeys }: KnownState, auth: TestAuth): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { prefix } of otpkeys) await auth.call("DELETE", `/core/otpkeys/${prefix}`);
  for (const username of usernames) {
    await auth.call("DELETE", `/core/users/${username}`);
    const { status } = await auth.post("/core/users", { username, password: `the next ${username} is another` });
    const { attributes, otpkeys: assigned } = (await auth.get(`/core/users/${username}`)).body as UserView;
    const { failures } = (await auth.get(`/core/users/${username}/lock`)).body as { failures: number };
    if (status !== 201 || Object.keys(attributes).length + assigned.length + failures > 0)
      wrong.push(`the next ${username} inherits something: ${status}`);
    await auth.call("DELETE", `/core/users/${username}`);
  }
  // Clean-up deletes expired rows, and what unfinished calls have left.
  for (let n = 0; n < 2; n++) {
    auth.advance(days(40));
    await auth.context.cleanUp();
  }
  return [...wrong, ...residue(await readRows(auth))];
}
