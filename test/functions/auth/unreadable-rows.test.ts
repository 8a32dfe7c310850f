import { describe, expect, it } from "vitest";
import { createKeyedHash } from "../../../lib/auth/keyed-hash.ts";
import { idKey } from "../../../lib/auth/tables.table.ts";
import { nameThrottleKey } from "../../../lib/auth/users/user-access.ts";
import { keyRing } from "../../../lib/platform/azure/cached-secrets.ts";
import { hours } from "../../../lib/platform/time.ts";
import { hotpKey } from "../../support/auth/software-key.ts";
import { type MadeUser, newName, testAuth, withSession } from "../../support/auth/test-auth.ts";

const auth = await testAuth();

const partitionOf = ({ id }: MadeUser) => idKey(id);
const keyedHash = createKeyedHash(keyRing(auth.deployment.secrets, "password-pepper", auth.deployment.caching));
const throttlePartition = ({ name }: MadeUser) => keyedHash(nameThrottleKey(name).kind, nameThrottleKey(name).text);

/** Overwrites columns of a stored row, as a fault of storage or of another version would. */
async function damage(
  table: string,
  [partitionKey, rowKey]: readonly [string, string],
  columns: Readonly<Record<string, string | number | boolean>>,
): Promise<void> {
  const rows = auth.deployment.tables.table(table);
  const row = await rows.get(partitionKey, rowKey);
  expect(row).toBeDefined();
  await rows.merge({ partitionKey, rowKey, ...columns }, row?.etag ?? "");
}

/** The events of that name whose error names the row; they hold nothing of what stands in it. */
const naming = (event: string, row: string) =>
  auth.events(event).filter(({ error }) => {
    const { name, message } = error as { name: string; message: string };
    expect(message).not.toContain(secretValue);
    return name === "RowError" && message.includes(row);
  });
const secretValue = "what stands in a damaged row";

const userDamages = [
  ["a name that is none", { name: 7 }],
  ["an epoch that is none", { epoch: secretValue }],
  ["a hash without its pepper", { password: '{"hash":"x"}' }],
  ["a time that is none", { createdAt: secretValue }],
  ["a later schema version", { schema: 99 }],
  ["OTP keys that are none", { otpkeys: secretValue }],
] as const;

describe("a user's row that cannot be read is 500 for that user alone", () => {
  it.each(userDamages)("%s", async (_, columns) => {
    const [bad, good] = [await auth.makeUser(), await auth.makeUser()];
    const session = await auth.logIn(bad);
    await damage("users", [partitionOf(bad), "user"], columns);
    const login = await auth.post("/client/login", bad.credentials);
    expect([login.status, JSON.stringify(login.body)]).toEqual([500, expect.not.stringContaining(secretValue)]);
    expect((await auth.get("/client/status", {}, withSession(session))).status).toBe(500);
    expect((await auth.get(`/core/users/${bad.name}`)).status).toBe(500);
    expect(naming("failed", `${partitionOf(bad)}/user`)).toHaveLength(3);

    expect((await auth.post("/client/login", good.credentials)).status).toBe(200);
    const ids = ((await auth.get("/core/users")).body as { id: number }[]).map(({ id }) => id);
    // The list reads neither hashes nor OTP keys.
    const isListed = !("name" in columns || "schema" in columns);
    expect([ids.includes(good.id), ids.includes(bad.id)]).toEqual([true, isListed]);
    expect(naming("row_failed", `${partitionOf(bad)}/user`).length > 0).toBe(!isListed);
  });
});

describe("a list leaves out what cannot be read, and names it in the log", () => {
  it("of users by an attribute", async () => {
    const users = [await auth.makeUser(), await auth.makeUser()] as const;
    const value = newName();
    for (const { id } of users) await auth.post(`/core/users/${id}/attributes`, { key: "dept", value });
    await damage("users", [partitionOf(users[0]), "user"], { otpkeys: "x" });
    const { status, body } = await auth.get("/core/users", { dept: value });
    expect([status, body]).toMatchObject([200, [{ id: users[1].id }]]);
    expect(naming("row_failed", `${partitionOf(users[0])}/user`).length).toBeGreaterThan(0);
  });

  it("of otpkeys", async () => {
    const keys = [hotpKey(), hotpKey()] as const;
    for (const { fields } of keys) await auth.post("/core/otpkeys", fields);
    await damage("otpkeys", [keys[0].prefix, "key"], { enabled: "yes" });
    const { status, body } = await auth.get("/core/otpkeys");
    const prefixes = (body as { prefix: string }[]).map(({ prefix }) => prefix);
    expect([status, keys.map(({ prefix }) => prefixes.includes(prefix))]).toEqual([200, [false, true]]);
  });
});

describe("a key's row that cannot be read is 500 for that key alone", () => {
  it.each([
    ["parameters that are no JSON", { parameters: secretValue }],
    ["parameters without a counter", { parameters: "{}" }],
    ["a kind that is none", { kind: secretValue }],
    ["enabled that is neither yes nor no", { enabled: "yes" }],
  ])("%s", async (_, columns) => {
    const [bad, good] = [hotpKey(), hotpKey()];
    const user = await auth.makeUser();
    for (const key of [bad, good]) await auth.giveKey(user, key);
    await damage("otpkeys", [bad.prefix, "key"], columns);
    const signIn = async (otp: string) => (await auth.post("/client/login", { ...user.credentials, otp })).status;
    expect(await signIn(bad.otp(0))).toBe(500);
    expect((await auth.get(`/core/otpkeys/${bad.prefix}`)).status).toBe(500);
    expect(naming("failed", `${bad.prefix}/key`)).toHaveLength(2);
    expect(await signIn(good.otp(0))).toBe(200);
  });
});

describe("a secret that does not open, because its key version is lost or the row was changed", () => {
  it("is replaced by an import with `replace`, and refused as another one without", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const other = await auth.makeOwner(hotpKey());
    const sealed = (await auth.context.otpkeys.find(other[1].prefix))?.value.sealedSecret ?? "";
    await damage("otpkeys", [key.prefix, "key"], { sealedSecret: sealed });
    const signIn = async () => (await auth.post("/client/login", { ...user.credentials, otp: key.otp(0) })).status;
    expect(await signIn()).toBe(500);
    expect((await auth.post("/core/otpkeys", key.fields)).status).toBe(409);
    expect((await auth.post("/core/otpkeys", { ...key.fields, replace: "true" })).status).toBe(200);
    expect(await signIn()).toBe(200);
  });
});

describe("clean-up", () => {
  it("passes what it cannot read, and removes the rest", async () => {
    const users = [await auth.makeUser(), await auth.makeUser()] as const;
    for (const { name } of users) await auth.post("/client/authenticate", { username: name, password: "wrong" });
    const throttles = auth.deployment.tables.table("throttles");
    const [bad, good] = await Promise.all(users.map(throttlePartition));
    await damage("throttles", [bad ?? "", "throttle"], { ends: "soon" });
    await auth.deployment.tables
      .table("expiry")
      .insert({ partitionKey: "throttles", rowKey: "2020-01-01T00_odd", schema: 1 });
    auth.advance(hours(72));
    await auth.context.cleanUp();
    const left = (partition = "") => throttles.get(partition, "throttle");
    expect([await left(bad), await left(good)]).toEqual([expect.anything(), undefined]);
    for (const row of [`${bad}/throttle`, "throttles/2020-01-01T00_odd"])
      expect(naming("row_failed", row)).toHaveLength(1);
  });
});

describe("the end of the sessions of a lost OTP key", () => {
  it("is not stopped by a session's row that cannot be read", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const session = await auth.logIn(user, key.otp(0));
    const sessions = auth.deployment.tables.table("sessions");
    // The first row of the scan.
    await sessions.insert({ partitionKey: "2000-01-01T00_0", rowKey: newName(), schema: 99, prefix: "other" });
    expect((await auth.post(`/core/otpkeys/${key.prefix}/disable`, { end_sessions: "true" })).status).toBe(204);
    expect(await auth.lives(session)).toBe(false);
  });
});

describe("a deletion beside attributes that cannot be read", () => {
  it("of a user succeeds, with its audit event, and removes the other rows of the user", async () => {
    const user = await auth.makeUser();
    await auth.post(`/core/users/${user.id}/attributes`, { key: "site", value: "north" });
    await damage("users", [partitionOf(user), "attributes"], { schema: 99 });
    expect((await auth.call("DELETE", `/core/users/${user.id}`)).status).toBe(204);
    expect(auth.events("user_deleted").at(-1)).toMatchObject({ user: { id: user.id } });
    expect(naming("row_failed", `${partitionOf(user)}/attributes`)).toHaveLength(1);
    const left = await Array.fromAsync(
      auth.deployment.tables.table("users").query({ partitionKey: partitionOf(user) }),
    );
    expect(left).toEqual([]);
  });

  it("of an OTP key succeeds, with its audit event", async () => {
    const { prefix, fields } = hotpKey();
    await auth.post("/core/otpkeys", fields);
    await auth.post(`/core/otpkeys/${prefix}/attributes`, { key: "batch", value: "7" });
    await damage("otpkeys", [prefix, "attributes"], { schema: 99 });
    expect((await auth.call("DELETE", `/core/otpkeys/${prefix}`)).status).toBe(204);
    expect(auth.events("otpkey_deleted").at(-1)).toMatchObject({ prefix });
  });
});

describe("a user's row that cannot be read, of a user who shares an OTP key,", () => {
  it("does not keep the OTP key from being deleted", async () => {
    const [good, key] = await auth.makeOwner(hotpKey());
    const bad = await auth.makeUser();
    await auth.post(`/core/users/${bad.id}/otpkeys`, { otpkey: key.prefix });
    await damage("users", [partitionOf(bad), "user"], { schema: 99 });
    expect((await auth.call("DELETE", `/core/otpkeys/${key.prefix}`)).status).toBe(204);
    expect(auth.events("otpkey_deleted").at(-1)).toMatchObject({ prefix: key.prefix });
    expect(naming("row_failed", `${partitionOf(bad)}/user`)).toHaveLength(1);
    expect((await auth.get(`/core/users/${good.id}`)).body).toMatchObject({ otpkeys: [] });
    // Of a new OTP key with the prefix the user is no holder.
    await auth.giveKey(good, key);
    const identifying = auth.anotherInstance({ settings: { AUTH_IDENTIFY_BY_OTP: "true" } });
    const fields = { password: good.password, otp: key.otp(0) };
    expect((await identifying.post("/client/login", fields)).status).toBe(200);
  });
});
