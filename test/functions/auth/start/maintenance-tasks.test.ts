import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { authTasks } from "../../../../functions/auth/start/maintenance-tasks.ts";
import { authTables } from "../../../../lib/auth/tables.table.ts";
import { keyRing } from "../../../../lib/platform/azure/cached-secrets.ts";
import { openSecrets } from "../../../../lib/platform/azure/secrets.ts";
import { localCredential } from "../../../../lib/platform/azure/services.ts";
import { backupsContainer } from "../../../../lib/platform/maintenance/read-backup.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { startVault } from "../../../../local/peers/vault/vault.ts";
import { cheapHasher } from "../../../support/auth/cheap-hashes.ts";
import { hotpKey, newPrefix, totpKey, yubicoKey } from "../../../support/auth/software-key.ts";
import { newName, type TestAuth, testAuth } from "../../../support/auth/test-auth.ts";
import { runTask } from "../../../support/run-task.ts";
import { copyBackups } from "../../../support/storage/backups.ts";

const auth = await testAuth();
await auth.deployment.blobs.createContainer(backupsContainer);

const run = (name: string, input: unknown = {}, { context, deployment } = auth) =>
  runTask(authTasks, name, input, { ...context, deployment });

const backUp = async (on = auth) => String((await run("backUp", {}, on)).backup);
const restore = (backup: string, more: object = {}, on = auth) =>
  run("restore", { backup, replace: true, ...more }, on);
const newSecret = () => randomBytes(32).toString("base64url");
const signIn = async (username: string, password: string, otp: string) =>
  (await auth.post("/client/authenticate", { username, password, otp })).body;

describe("resealing after a rotation of the key", () => {
  /** Keys with secrets on storage of their own, and a host that has read the new version of the key alone. */
  async function rotated(count: number, beforehand: (on: TestAuth, prefixes: readonly string[]) => Promise<unknown>) {
    const on = await testAuth();
    const keys = Array.from({ length: count }, () => hotpKey());
    const user = await on.makeUser();
    for (const key of keys) await on.giveKey(user, key);
    const name = "data-encryption-key";
    const old = on.vault.get(name) ?? "";
    const version = (await on.deployment.secrets.get(name))?.version ?? "";
    await beforehand(
      on,
      keys.map(({ prefix }) => prefix),
    );
    on.vault.set(name, randomBytes(32).toString("base64url"));
    const host = on.anotherInstance();
    const reseal = async () => {
      try {
        return await run("reseal", {}, host);
      } finally {
        on.vault.set(name, old);
      }
    };
    return { host, version, reseal };
  }

  const changeRow = async (on: TestAuth, prefix: string, columns: Readonly<Record<string, string>>) => {
    const keys = on.deployment.tables.table("otpkeys");
    const row = await keys.get(prefix, "key");
    await keys.merge({ partitionKey: prefix, rowKey: "key", ...columns }, row?.etag ?? "");
    return row;
  };
  const shaped = (header: object) => `${Buffer.from(JSON.stringify(header)).toString("base64url")}.a.b.c.d`;

  it("counts a value that does not open, names its row in the log, and seals the others", async () => {
    let broken = "";
    const { host, reseal } = await rotated(2, async (on, [first = ""]) => {
      broken = first;
      const row = await on.deployment.tables.table("otpkeys").get(first, "key");
      await changeRow(on, first, { sealedSecret: `${String(row?.sealedSecret).slice(0, -4)}AAAA` });
    });
    expect(await reseal()).toMatchObject({ resealed: 1, failed: 1 });
    expect(host.events("reseal_failed")).toMatchObject([{ table: "otpkeys", partitionKey: broken, rowKey: "key" }]);
    const progress = { table: "otpkeys", rows: 6, resealed: 1, failed: 1 };
    expect(host.events("reseal_progress").at(-1)).toMatchObject(progress);
  });

  it.each(["..", "../../secrets", "?x=", "0".repeat(32)])(
    "counts a row whose own value names the version %j as failed, and goes on",
    async kid => {
      const { reseal } = await rotated(2, async (on, [first = ""]) => {
        const row = `${first}/attributes`;
        const header = { alg: "A256GCMKW", enc: "A256GCM", table: "otpkeys", row, purpose: "x", kid };
        await on.post(`/core/otpkeys/${first}/attributes`, { key: "odd", value: shaped(header) });
      });
      expect(await reseal()).toMatchObject({ resealed: 2, failed: 1 });
    },
  );

  it.each([
    ["counts a row whose version of the key the vault refuses as failed, and continues", 403],
    ["ends where the vault is away, and counts nothing as failed", 429],
  ])("%s", async (_, status) => {
    const { host, version, reseal } = await rotated(1, async () => {});
    const forbidden = { kind: "refuse", status, body: { error: { code: "Forbidden" } } } as const;
    const away = { kind: "throttle", retryAfter: 60 } as const;
    host.vault.fail({ ...(status === 403 ? forbidden : away), path: version, times: 9 });
    try {
      if (status === 403) expect(await reseal()).toMatchObject({ resealed: 0, failed: 1 });
      else await expect(reseal()).rejects.toMatchObject({ kind: "unavailable" });
      expect(host.events("reseal_failed")).toHaveLength(status === 403 ? 1 : 0);
    } finally {
      host.vault.clearFaults();
    }
  });
});

describe("a restore of a backup", () => {
  it("brings back users, keys, assignments, attributes and what finds them, and nothing that came later", async () => {
    const [one, two] = [await auth.makeUser(), await auth.makeUser()];
    const key = hotpKey();
    await auth.giveKey(one, key);
    await auth.logIn(one, key.otp(0));
    const value = newName();
    await auth.post(`/core/users/${one.id}/attributes`, { key: "dept", value });
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "shelf", value });
    const view = await auth.get(`/core/users/${one.id}`);
    expect(view.body).toMatchObject({
      attributes: { dept: value },
      otpkeys: [key.prefix],
      last_login: expect.any(String),
    });
    const keyView = await auth.get(`/core/otpkeys/${key.prefix}`);
    const backup = await backUp();

    await auth.post(`/core/users/${one.id}/delete`);
    await auth.post(`/core/otpkeys/${key.prefix}/delete`);
    const later = await auth.makeUser();
    expect(await restore(backup)).toMatchObject({ users: expect.any(Number), otpkeys: expect.any(Number) });
    expect(auth.events("restore_verified").at(-1)).toMatchObject({ backup, replace: true, skipped: 0 });
    const ofBackup = auth.events("backup_progress").filter(event => event.backup === backup);
    expect(ofBackup).toContainEqual(expect.objectContaining({ table: "otpkeys", rows: expect.any(Number) }));
    const emptied = auth.events("restore_emptied").slice(-authTables.length);
    expect(emptied.map(({ table }) => table)).toEqual(authTables);

    expect((await auth.get(`/core/users/${one.id}`)).body).toEqual(view.body);
    expect((await auth.get(`/core/users/${one.name}`)).body).toEqual(view.body);
    expect((await auth.get(`/core/otpkeys/${key.prefix}`)).body).toEqual(keyView.body);
    expect((await auth.get("/core/users", { dept: value })).body).toMatchObject([{ id: one.id }]);
    expect((await auth.get("/core/users", { otpkey: key.prefix })).body).toMatchObject([{ id: one.id }]);
    expect((await auth.get("/core/users", { $prefix: one.name.toUpperCase() })).body).toMatchObject([{ id: one.id }]);
    const listed = (await auth.get("/core/users")).body as { id: number }[];
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining([one.id, two.id]));
    expect(listed.map(({ id }) => id)).not.toContain(later.id);
    expect((await auth.get(`/core/users/${later.name}`)).status).toBe(404);
    // All of it can be changed as before.
    expect((await auth.post(`/core/users/${one.id}/attributes/dept/delete`)).status).toBe(204);
    expect((await auth.get("/core/users", { dept: value })).body).toEqual([]);
    expect((await auth.post(`/core/otpkeys/${key.prefix}/delete`)).status).toBe(204);
    expect((await auth.get(`/core/users/${one.id}/otpkeys`)).body).toEqual([]);
  });

  it("ends all sessions and forgets failures", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    for (let n = 0; n < 10; n++) await auth.post("/client/authenticate", { username: user.name, password: "wrong" });
    expect((await auth.post("/client/login", user.credentials)).status).toBe(429);
    await restore(await backUp());
    expect(await auth.lives(session)).toBe(false);
    expect((await auth.post("/client/login", user.credentials)).status).toBe(200);
  });

  it("accepts no device token that was issued before the restore, also after the next change of the credentials", async () => {
    const user = await auth.makeUser();
    const remember = async () => {
      const { body } = await auth.post("/client/login", { ...user.credentials, remember_device: "true" });
      return (body as { device: string }).device;
    };
    const endSessions = () => auth.post(`/core/users/${user.id}/sessions/delete`);
    const counts = async (device: string) => {
      await auth.post("/client/authenticate", user.credentials, { "x-service-device": device });
      return auth.events("authentication").at(-1)?.isOnDevice === true;
    };
    const early = await remember();
    const backup = await backUp();
    await endSessions();
    const late = await remember();
    expect([await counts(early), await counts(late)]).toEqual([false, true]);
    await restore(backup);
    expect([await counts(early), await counts(late)]).toEqual([false, false]);
    await endSessions();
    expect([await counts(early), await counts(late)]).toEqual([false, false]);
    expect(await counts(await remember())).toBe(true);
  });

  it("accepts no OTP that was used since, for as many uses as the input allows for", async () => {
    const [user, hotp, totp, yubico] = [await auth.makeUser(), hotpKey(), totpKey(), yubicoKey()];
    for (const key of [hotp, totp, yubico]) await auth.giveKey(user, key);
    const backup = await backUp();
    const step = Math.floor(Date.parse(auth.now()) / 30_000);
    const used = [hotp.otp(0), hotp.otp(4), totp.otp(step), yubico.otp(1), yubico.otp(4)];
    for (const otp of used) expect(await signIn(user.name, user.password, otp), otp).toBe(true);
    await restore(backup, { otp_uses: 5 });
    for (const otp of used) expect(await signIn(user.name, user.password, otp), otp).toBe(false);
    for (const otp of [hotp.otp(5), yubico.otp(5)]) expect(await signIn(user.name, user.password, otp)).toBe(true);
    // Ten steps in which a resynchronisation may have used codes, and the step of the restore.
    auth.advance(11 * 30_000);
    expect(await signIn(user.name, user.password, totp.otp(step + 11))).toBe(true);
  });

  it("drops a temporary code, which may have been used since, and its user still needs an OTP", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const path = `/core/otpkeys/${key.prefix}`;
    const fields = { uses: "9", valid_until: plus(auth.now(), days(1)) };
    const { code } = (await auth.post(`${path}/temporary-code`, fields)).body as { code: string };
    const backup = await backUp();
    expect(await signIn(user.name, user.password, code)).toBe(true);
    await restore(backup);
    expect(await signIn(user.name, user.password, code)).toBe(false);
    const { name: username, password } = user;
    expect((await auth.post("/client/authenticate", { username, password })).body).toBe(false);
    expect((await auth.get(path)).body).toMatchObject({ enabled: false, temporary_code: { uses_left: 0 } });
    await auth.post(`${path}/enable`);
    auth.advance(days(1));
    expect(await signIn(user.name, user.password, key.otp(20))).toBe(true);
  });

  it("keeps OTPs spent that servers have checked", async () => {
    const spent = { partitionKey: newPrefix(), rowKey: "hash", schema: 1, ends: "2099-01-01T00:00:00.000Z" };
    await auth.deployment.tables.table("spentotps").insert(spent);
    await restore(await backUp());
    expect(await auth.deployment.tables.table("spentotps").get(spent.partitionKey, "hash")).toMatchObject(spent);
  });

  it("costs eight calls of storage to empty, and six to write, a user with a key and an attribute", async () => {
    const on = await testAuth();
    await on.deployment.blobs.createContainer(backupsContainer);
    const users = 12;
    for (let n = 0; n < users; n++) {
      const user = await on.makeUser();
      await on.giveKey(user, hotpKey());
      await on.post(`/core/users/${user.id}/attributes`, { key: "dept", value: "x" });
    }
    const backup = await backUp(on);
    const { total } = await on.counted(() => restore(backup, {}, on));
    // Beside that each table is looked at twice, and what they share is a few calls.
    expect(total).toBeLessThanOrEqual((8 + 6) * users + 2 * authTables.length + 8);
  });
});

/** A vault of its own, and a server that hashes passwords with the pepper in it. */
async function withVault() {
  const vault = await startVault({
    secrets: { "data-encryption-key": newSecret(), "password-pepper": newSecret() },
  });
  const secrets = openSecrets({ endpoint: vault.url, credential: localCredential, timeoutMs: 15_000 });
  const caching = { maxAgeMs: 300_000, refreshAfterMs: 60_000, now: auth.now, log: auth.deployment.log };
  const hasher = () =>
    cheapHasher({ random: randomBytes, now: auth.now }, { pepper: keyRing(secrets, "password-pepper", caching) });
  const on = await testAuth({ vault, ports: () => ({ hasher: hasher() }) });
  return { vault, on, restarted: () => on.anotherInstance({ ports: () => ({ hasher: hasher() }) }) };
}

describe("a restore beside a new vault", () => {
  it("opens OTP keys and passwords with the old keys that an operator copied, and needs the old versions no more after reseal", async () => {
    const [first, second] = [await withVault(), await withVault()];
    try {
      const old = first.on;
      await old.deployment.blobs.createContainer(backupsContainer);
      const [user, key] = await old.makeOwner(hotpKey());
      const backup = await backUp(old);

      await copyBackups(old.deployment.blobs, second.on.deployment.blobs);
      await restore(backup, { otp_uses: 0 }, second.on);
      const authenticates = async (on: TestAuth, count: number) => {
        const fields = { ...user.credentials, otp: key.otp(count) };
        return (await on.post("/client/authenticate", fields)).body;
      };
      expect(await authenticates(second.restarted(), 0)).not.toBe(true);

      for (const name of ["data-encryption-key", "password-pepper"])
        for (const value of [first.vault.get(name) ?? "", newSecret()]) second.vault.set(name, value);
      const host = second.restarted();
      expect(await authenticates(host, 1)).toBe(true);
      expect(await run("reseal", {}, host)).toMatchObject({ resealed: 1, failed: 0 });
      const row = await host.deployment.tables.table("otpkeys").get(key.prefix, "key");
      const [header = ""] = String(row?.sealedSecret).split(".");
      const { kid } = JSON.parse(Buffer.from(header, "base64url").toString());
      expect(kid).toBe((await host.deployment.secrets.get("data-encryption-key"))?.version);
      expect(await authenticates(second.restarted(), 2)).toBe(true);
    } finally {
      await Promise.all([first.vault.close(), second.vault.close()]);
    }
  });
});

describe("backups in a second place", () => {
  it("are copied whole, kept for as long, and restored from there when the first place is lost", async () => {
    const [first, second] = [await testAuth(), await testAuth()];
    const { blobs } = first.deployment;
    const { blobs: secondBlobs } = second.deployment;
    await blobs.createContainer(backupsContainer);
    await secondBlobs.createContainer(backupsContainer);
    const on: TestAuth = { ...first, deployment: { ...first.deployment, secondBlobs } };
    const user = await on.makeUser();
    const { backup, copied, removed } = await run("backUp", {}, on);
    expect(removed).toBe(0);
    const namesIn = (place: typeof blobs) => Array.fromAsync(place.list(backupsContainer, "auth/"));
    expect(await namesIn(secondBlobs)).toEqual(await namesIn(blobs));
    expect(copied).toBe((await namesIn(blobs)).length);

    for (const name of await namesIn(blobs)) await blobs.remove(backupsContainer, name);
    await expect(restore(String(backup), {}, first)).rejects.toThrow("There is no finished backup");
    expect(await restore(String(backup), {}, on)).toEqual({ users: 1, otpkeys: 0, skipped: 0, renamed: [] });
    expect((await first.get(`/core/users/${user.id}`)).status).toBe(200);

    on.advance(days(31));
    const later = await run("backUp", {}, on);
    expect(new Set((await namesIn(secondBlobs)).map(name => name.split("/")[1]))).toEqual(new Set([later.backup]));
  });

  it("are copied by the next run if the second place was not available, the manifest last, and reported before", async () => {
    const [first, second] = [await testAuth(), await testAuth()];
    const { blobs } = first.deployment;
    await blobs.createContainer(backupsContainer);
    await second.deployment.blobs.createContainer(backupsContainer);
    let isAvailable = true;
    const written: string[] = [];
    const secondBlobs: typeof blobs = {
      ...second.deployment.blobs,
      put: async (container, name, content) => {
        if (!isAvailable && name.endsWith("manifest.json")) throw new Error("the second place is not available");
        await second.deployment.blobs.put(container, name, content);
        written.push(name);
      },
    };
    const on: TestAuth = { ...first, deployment: { ...first.deployment, secondBlobs } };
    const user = await on.makeUser();
    const earliest = await backUp(on);
    isAvailable = false;
    await expect(run("backUp", {}, on)).rejects.toThrow("the second place is not available");
    const missed = String(first.events("backup_created").at(-1)?.backup);
    await expect(restore(missed, { replace: true }, second)).rejects.toThrow("There is no finished backup");
    isAvailable = true;
    first.advance(1);
    written.length = 0;
    const { backup: latest, copied } = await run("backUp", {}, on);
    expect(copied).toBe(written.length);
    const lastOf = new Map(written.map(name => [name.split("/")[1], name.split("/").at(-1)]));
    expect(Object.fromEntries(lastOf)).toEqual({ [missed]: "manifest.json", [String(latest)]: "manifest.json" });
    expect(earliest).not.toBe(missed);
    await restore(missed, {}, second);
    expect((await second.get(`/core/users/${user.id}`)).status).toBe(200);
  });
});

describe("backups", () => {
  it("are removed by the next one when they are older than BACKUP_KEEP_DAYS, or never got finished", async () => {
    const on = (await testAuth()).anotherInstance({ settings: { BACKUP_KEEP_DAYS: "2" } });
    const { blobs } = on.deployment;
    await blobs.createContainer(backupsContainer);
    await on.makeUser();
    const [old, unfinished] = [await backUp(on), await backUp(on)];
    await blobs.remove(backupsContainer, `auth/${unfinished}/manifest.json`);
    on.advance(days(1) + 1);
    const { backup: young, removed } = await run("backUp", {}, on);
    expect(removed).toBe(1);
    const left = async () => {
      const ids = new Set<string>();
      for await (const name of blobs.list(backupsContainer, "auth/")) ids.add(name.split("/")[1] ?? "");
      return ids;
    };
    expect(await left()).toEqual(new Set([old, young]));
    on.advance(days(1));
    const last = await run("backUp", {}, on);
    expect(last.removed).toBe(1);
    expect(await left()).toEqual(new Set([young, last.backup]));
  });
});
