import { describe, expect, test } from "vitest";
import { attributeColumns, attributesIn } from "../../../lib/auth/attributes/attribute-rows.table.ts";
import { otpKeyColumns } from "../../../lib/auth/otpkeys/key-rows.table.ts";
import { spentColumns } from "../../../lib/auth/otpkeys/otpkeys.table.ts";
import { authBackedUp, restoreAuth } from "../../../lib/auth/restore.table.ts";
import { sessionColumns } from "../../../lib/auth/sessions/sessions.table.ts";
import { addressColumns } from "../../../lib/auth/sign-in/addresses.table.ts";
import { throttleColumns } from "../../../lib/auth/sign-in/throttles.table.ts";
import { authStore } from "../../../lib/auth/store.table.ts";
import { authTables, idKey, openAuthTables } from "../../../lib/auth/tables.table.ts";
import { nameColumns } from "../../../lib/auth/users/names.table.ts";
import { goneColumns, loginColumns, userColumns, userParts } from "../../../lib/auth/users/user-rows.table.ts";
import { openBlobs } from "../../../lib/platform/azure/blobs.ts";
import { openTables } from "../../../lib/platform/azure/tables.ts";
import { backUp } from "../../../lib/platform/maintenance/back-up.ts";
import { backupsContainer, openBackup } from "../../../lib/platform/maintenance/read-backup.ts";
import { days } from "../../../lib/platform/time.ts";
import { identified, plainKey, storageDeps, username } from "../../support/auth/store.ts";
import { freshStorage, storageTimeoutMs } from "../../support/storage/fresh-storage.ts";
import { sampleOf } from "../../support/storage/sample-of.ts";

const storage = freshStorage();
const tables = openTables({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
const blobs = openBlobs({ connectionString: storage.connectionString, timeoutMs: storageTimeoutMs });
await Promise.all([...authTables.map(name => tables.createTable(name)), blobs.createContainer(backupsContainer)]);
const store = authStore(tables, storageDeps);

const rows = {
  user: [userColumns, ["id"]],
  "deleted user": [goneColumns, []],
  login: [loginColumns, []],
  name: [nameColumns, []],
  "OTP key": [otpKeyColumns, ["prefix"]],
  "spent OTP": [spentColumns, []],
  session: [sessionColumns, []],
  throttle: [throttleColumns, []],
  address: [addressColumns, []],
} as const;

describe("every column of the schema of a row", () => {
  test.each(Object.entries(rows))("comes back as it was written: %s", async (name, [columns, keyed]) => {
    const value = sampleOf(columns.schema()) as Record<string, unknown>;
    const keys = { partitionKey: "sample", rowKey: name.replaceAll(" ", "-") };
    const convert = columns as unknown as {
      toColumns(value: object): Record<string, string>;
      fromRow(row: object, keys: object): unknown;
    };
    const table = tables.table("spentotps");
    await table.upsert({ ...keys, ...convert.toColumns(value) });
    const row = await table.get(keys.partitionKey, keys.rowKey);
    expect(convert.fromRow(row ?? {}, Object.fromEntries(keyed.map(key => [key, value[key]])))).toEqual(value);
    await table.remove(keys.partitionKey, keys.rowKey);
  });

  test("comes back as it was written: as many attributes as an owner can have, of any length", async () => {
    const values = [
      "",
      "\n".repeat(32_768),
      "\u{1f984}".repeat(16_384),
      ...Array.from({ length: 197 }, (_, n) => `${n}`),
    ];
    const attributes = Object.fromEntries(values.map((value, n) => [`key${n}`.padEnd(128, "x"), value]));
    const keys = { partitionKey: "sample", rowKey: "attributes" };
    const table = tables.table("spentotps");
    await table.upsert({ ...keys, ...attributeColumns(attributes), writeId: "w" });
    expect(attributesIn(await table.get(keys.partitionKey, keys.rowKey))).toEqual(attributes);
    await table.remove(keys.partitionKey, keys.rowKey);
  });

  test("of users and OTP keys is kept by each change, a backup and a restore", async () => {
    const created = await store.otpkeys.create({
      ...(sampleOf(otpKeyColumns.schema()) as object),
      ...plainKey("samplekey"),
    });
    const key = created?.key;
    const saved =
      key &&
      (await store.otpkeys.save(key, { ...(sampleOf(otpKeyColumns.schema()) as typeof key.value), kind: "hotp" }));
    expect(Object.keys(saved?.value ?? {}).sort()).toEqual(
      Object.keys(sampleOf(otpKeyColumns.schema()) as object).sort(),
    );
    expect((await store.otpkeys.find("samplekey"))?.value).toEqual(saved?.value);

    const sample = sampleOf(userColumns.schema()) as Parameters<typeof userParts>[0];
    const otpkeys = [{ prefix: "samplekey", id: key?.value.id ?? 0 }];
    const user = { ...sample, name: "sample", otpkeys: [] };
    const parts = userParts(user, { a: "b" }, "2031-01-01T12:34:56.789Z");
    await tables.table("users").transact(
      idKey(user.id),
      parts.map(part => ({ insert: part })),
    );
    const userRef = identified(user.id);
    const kept = async () => (await store.users.find(userRef))?.value;
    await store.otpkeys.assign(userRef, "samplekey");
    expect(await kept()).toEqual({ ...user, otpkeys });
    await store.users.rename(userRef, username("renamed"));
    const renamed = { ...user, name: "renamed", otpkeys, epoch: expect.any(Number) };
    expect(await kept()).toEqual(renamed);
    const found = await store.users.find(userRef);
    const changed = { ...user.password, pepper: "another" } as NonNullable<typeof user.password>;
    if (found) await store.users.save(found, { ...found.value, password: changed });
    expect(await kept()).toEqual({ ...renamed, password: changed });
    const again = await store.users.find(userRef);
    if (again) await store.users.renewEpoch(again, current => current);
    expect(await kept()).toEqual({ ...renamed, password: changed });
    const view = await store.users.view(userRef);
    expect(view).toMatchObject({ ...renamed, otpkeys: ["samplekey"], password: changed });

    const { now, random, log } = storageDeps;
    const { backup: id } = await backUp(authBackedUp, { tables, blobs, now, random, log, keepMs: days(30) });
    const backup = await openBackup(blobs, authBackedUp, id);
    const target = freshStorage();
    const restored = openTables({ connectionString: target.connectionString, timeoutMs: storageTimeoutMs });
    await Promise.all(authTables.map(name => restored.createTable(name)));
    const windows = { lookAhead: 15, resync: 100, steps: 1 };
    await restoreAuth(backup, openAuthTables(restored, storageDeps), { uses: 0, windows });
    const there = authStore(restored, storageDeps);
    // A code may have been used since.
    const { hash: __, ...passwordCode } = { ...user.passwordCode, triesLeft: 0 };
    expect((await there.users.find(userRef))?.value).toEqual({ ...renamed, password: changed, passwordCode });
    const { epoch: ___, ...keptView } = view ?? {};
    expect(await there.users.view(userRef)).toEqual({ ...keptView, epoch: expect.anything(), passwordCode });
    const keyThere = (await there.otpkeys.find("samplekey"))?.value;
    // A code may have been used since, and counters move on.
    const { hash: _, ...code } = saved?.value.temporaryCode ?? { usesLeft: 0, validUntil: "" };
    expect(keyThere).toEqual({ ...saved?.value, temporaryCode: code, parameters: expect.anything() });
    expect(Object.keys(keyThere?.parameters ?? {})).toEqual(Object.keys(saved?.value.parameters ?? {}));
  });
});
