import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cachedSecret, keyRing } from "../../../../lib/platform/azure/cached-secrets.ts";
import { openSecrets, type Secrets } from "../../../../lib/platform/azure/secrets.ts";
import { localCredential } from "../../../../lib/platform/azure/services.ts";
import { createSealer } from "../../../../lib/platform/crypto.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { instant, minutes, seconds } from "../../../../lib/platform/time.ts";
import { startVault, type Vault } from "../../../../local/peers/vault/vault.ts";

let vault: Vault;
let secrets: Secrets;
let name: string;
let serial = 0;
let clock = Date.UTC(2026, 10, 21);
let lines: string[] = [];

const options = {
  maxAgeMs: minutes(5),
  refreshAfterMs: minutes(1),
  now: () => instant(clock),
  log: createLog((_, line) => lines.push(line)),
};
const open = () => openSecrets({ endpoint: vault.url, credential: localCredential, timeoutMs: 20_000 });
const reads = () => vault.count("GET", new RegExp(`^/secrets/${name}(/|$)`));

beforeAll(async () => {
  vault = await startVault();
  secrets = open();
  // The first call of a client is made twice: the vault's challenge names the authority for the SDK's token.
  await secrets.get("nothing");
});
afterAll(() => vault.close());
beforeEach(() => {
  name = `secret-${serial++}`;
  lines = [];
  vault.clearFaults();
});

describe("the vault", () => {
  test("gives the current version of a secret, and an older one by its version", async () => {
    const expiresOn = new Date("2027-01-01T00:00:00Z");
    const first = await secrets.set(name, "one", { expiresOn });
    const second = await secrets.set(name, "two");
    expect(first).toEqual({ value: "one", version: expect.stringMatching(/./), expiresOn });
    expect(await secrets.get(name)).toEqual(second);
    expect(await secrets.getVersion(name, first.version)).toEqual(first);
  });

  test("has no such secret, no such version", async () => {
    expect(await secrets.get(name)).toBeUndefined();
    await secrets.set(name, "one");
    expect(await secrets.getVersion(name, "0".repeat(32))).toBeUndefined();
  });

  test.each([
    "..",
    ".",
    "",
    "versions",
    `../${"0".repeat(32)}`,
    "0".repeat(31),
    "0".repeat(33),
    "G".repeat(32),
    "%2e%2e",
  ])("is never asked for a version that it cannot have given: %j", async version => {
    await secrets.set(name, "one");
    const before = vault.count("GET", /./);
    expect(await secrets.getVersion(name, version)).toBeUndefined();
    expect(vault.count("GET", /./)).toBe(before);
  });

  test("takes a value by the first call of a process", async () => {
    expect(await open().set(name, "one")).toMatchObject({ value: "one" });
    expect(vault.get(name)).toBe("one");
  });

  test("that throttles once without naming a pause is asked again", async () => {
    vault.set(name, "one");
    vault.fail({ kind: "refuse", status: 429, body: { error: { code: "Throttled" } }, times: 1, path: name });
    expect((await secrets.get(name))?.value).toBe("one");
    expect(reads()).toBe(2);
  });

  test("that throttles without naming a pause is unavailable after a bounded number of calls", async () => {
    vault.fail({ kind: "refuse", status: 429, body: { error: { code: "Throttled" } }, times: 9, path: name });
    await expect(secrets.get(name)).rejects.toMatchObject({ kind: "unavailable" });
    expect(reads()).toBe(4);
  });

  test("that something else answers for is unavailable, not an empty vault", async () => {
    vault.fail({ kind: "nonsense", path: name });
    await expect(secrets.get(name)).rejects.toMatchObject({ kind: "unavailable" });
  });

  test("that gives a secret without a value is unavailable", async () => {
    vault.fail({ kind: "refuse", status: 200, body: { id: `https://127.0.0.1/secrets/${name}/1` }, path: name });
    await expect(secrets.get(name)).rejects.toMatchObject({ kind: "unavailable" });
  });

  test("is never spoken to without TLS, this machine excepted", () => {
    const endpoint = "http://vault.example";
    expect(() => openSecrets({ endpoint, credential: localCredential, timeoutMs: 1 })).toThrow(/refused/);
  });
});

describe("a cached secret", () => {
  const cached = () => cachedSecret(name, () => secrets.get(name), options);

  test("is read once by however many ask, and again after 5 minutes", async () => {
    vault.set(name, "one");
    const secret = cached();
    const values = await Promise.all([secret.get(), secret.get(), secret.get()]);
    expect(values.map(value => value?.value)).toEqual(["one", "one", "one"]);
    vault.set(name, "two");
    clock += minutes(5) - 1;
    expect((await secret.get())?.value).toBe("one");
    expect(reads()).toBe(1);
    clock += 1;
    expect((await secret.get())?.value).toBe("two");
    expect(reads()).toBe(2);
  });

  test("is read again after the clock was set back, so that a revoked token is not accepted for as long", async () => {
    vault.set(name, "one");
    const secret = cached();
    await secret.get();
    vault.set(name, "two");
    clock -= minutes(60);
    expect((await secret.get())?.value).toBe("two");
    expect((await secret.get())?.value).toBe("two");
    expect(reads()).toBe(2);
  });

  test("is read again at once when forced, once by however many ask", async () => {
    vault.set(name, "one");
    const secret = cached();
    await secret.get();
    vault.set(name, "two");
    const values = await Promise.all([secret.refresh(), secret.refresh(), secret.refresh()]);
    // The first read may have begun before the others asked, who share another one.
    expect(values.map(value => value?.value)).toEqual(["two", "two", "two"]);
    expect(reads()).toBe(3);
    expect((await secret.get())?.value).toBe("two");
    expect(reads()).toBe(3);
  });

  test("is read by a forced read that begins after the call, never by one in progress", async () => {
    const answers = ["before", "after"].map(value => ({ value, ...Promise.withResolvers<string>() }));
    let begun = 0;
    const secret = cachedSecret(name, () => answers[begun++]?.promise ?? Promise.resolve("later"), options);
    const inProgress = secret.get();
    const forced = [secret.refresh(), secret.refresh()];
    for (const { resolve, value } of answers) resolve(value);
    expect(await Promise.all([inProgress, ...forced])).toEqual(["before", "after", "after"]);
    expect(begun).toBe(2);
  });

  test("does not pass off its old value as that of a forced read that fails", async () => {
    vault.set(name, "one");
    const secret = cached();
    await secret.get();
    vault.fail({ kind: "throttle", retryAfter: 60, path: name });
    await expect(secret.refresh()).rejects.toMatchObject({ kind: "unavailable" });
    expect((await secret.get())?.value).toBe("one");
  });

  test("that is missing is not asked for by every call", async () => {
    const secret = cached();
    expect(await secret.get()).toBeUndefined();
    expect(await secret.get()).toBeUndefined();
    expect(reads()).toBe(1);
  });

  test("goes on with the old value while the vault is away, says so, and asks again after a minute", async () => {
    vault.set(name, "one");
    const secret = cached();
    await secret.get();
    clock += minutes(5);
    vault.fail({ kind: "throttle", retryAfter: 60, path: name });
    expect((await secret.get())?.value).toBe("one");
    expect(lines.map(line => JSON.parse(line))).toMatchObject([{ event: "secret.stale", secret: name }]);
    expect(lines.join()).not.toContain('"one"');
    vault.set(name, "two");
    clock += seconds(59);
    expect((await secret.get())?.value).toBe("one");
    expect(reads()).toBe(2);
    clock += seconds(1);
    expect((await secret.get())?.value).toBe("two");
  });

  test("is an error at the end of the longest time without a good read, asked for once a minute, until the vault is back", async () => {
    vault.set(name, "one");
    const secret = cachedSecret(name, () => secrets.get(name), { ...options, maxStaleMs: minutes(60) });
    await secret.get();
    vault.fail({ kind: "throttle", retryAfter: 60, path: name, times: 9 });
    clock += minutes(60) - 1;
    expect((await secret.get())?.value).toBe("one");
    clock += 1;
    const asked = reads();
    for (const read of [secret.get, secret.get, secret.refresh])
      await expect(read()).rejects.toMatchObject({ kind: "unavailable" });
    expect(reads() - asked).toBe(1);
    vault.clearFaults();
    clock += minutes(1);
    expect((await secret.get())?.value).toBe("one");
  });

  test("that could never be read is an error each time", async () => {
    const secret = cached();
    vault.fail({ kind: "throttle", retryAfter: 60, path: name });
    await expect(secret.get()).rejects.toMatchObject({ kind: "unavailable" });
    vault.set(name, "one");
    expect((await secret.get())?.value).toBe("one");
  });

  test("that was deleted is gone, not old", async () => {
    vault.set(name, "one");
    const secret = cached();
    await secret.get();
    vault.fail({ kind: "refuse", status: 404, body: { error: { code: "SecretNotFound" } } });
    clock += minutes(5);
    expect(await secret.get()).toBeUndefined();
  });
});

describe("the key ring", () => {
  const place = { table: "t", row: "r", purpose: "p" };
  const ring = () => keyRing(secrets, name, options);
  const newKey = () => {
    const key = randomBytes(32);
    vault.set(name, key.toString("base64"));
    return key;
  };

  test.each(["base64", "base64url"] as const)("takes 32 bytes in %s", async encoding => {
    const key = randomBytes(32);
    vault.set(name, `${key.toString(encoding)}\n`);
    const { key: read, version } = await ring().current();
    expect(Buffer.from(read)).toEqual(key);
    expect(version).toBe((await secrets.get(name))?.version);
  });

  test.each(["", "hush", randomBytes(31).toString("base64"), randomBytes(33).toString("base64"), "!".repeat(44)])(
    "refuses anything else (%j) without telling it",
    async value => {
      vault.set(name, value);
      const error = await ring()
        .current()
        .catch((reason: unknown) => String(reason));
      expect(error).toMatch(/not 32 bytes in base64/);
      if (value !== "") expect(error).not.toContain(value);
    },
  );

  test("says that the secret is missing", async () => {
    await expect(ring().current()).rejects.toThrow(`The secret ${name} is missing in the vault`);
    expect(await ring().candidates("0".repeat(32))).toEqual([]);
  });

  test("costs one read of the vault however much is sealed and opened", async () => {
    newKey();
    const sealer = createSealer(ring());
    const sealed = await Promise.all(["a", "b", "c"].map(text => sealer.seal(text, place)));
    expect(await Promise.all(sealed.map(value => sealer.open(value, place)))).toEqual(["a", "b", "c"]);
    expect(reads()).toBe(1);
    expect(await createSealer(ring()).open(sealed[0] ?? "", place)).toBe("a");
    expect(reads()).toBe(2);
  });

  test("after rotation seals under the new version and opens what is old, by one more read for ever", async () => {
    newKey();
    const before = createSealer(ring());
    const old = await before.seal("old", place);
    newKey();
    clock += minutes(5);
    const renewed = await before.seal("new", place);
    expect([typeof (await before.renew(old, place)), await before.renew(renewed, place)]).toEqual([
      "string",
      undefined,
    ]);

    const after = createSealer(ring());
    const earlier = reads();
    expect(await Promise.all([after.open(old, place), after.open(old, place)])).toEqual(["old", "old"]);
    clock += minutes(5);
    expect(await after.open(old, place)).toBe("old");
    expect(await after.open(renewed, place)).toBe("new");
    expect(reads()).toBe(earlier + 2);
  });

  test("opens what a process with a newer version sealed, before it has seen that version itself", async () => {
    newKey();
    const behind = createSealer(ring());
    await behind.seal("x", place);
    newKey();
    expect(await behind.open(await createSealer(ring()).seal("ahead", place), place)).toBe("ahead");
  });

  test("goes on with the old version while the new one is no key", async () => {
    newKey();
    const keys = ring();
    const { version } = await keys.current();
    vault.set(name, "no key");
    clock += minutes(5);
    expect((await keys.current()).version).toBe(version);
    expect(lines.join()).toContain("secret.stale");
  });

  test("asks again for a version whose reading failed", async () => {
    newKey();
    const old = (await secrets.get(name))?.version ?? "";
    newKey();
    const keys = ring();
    await keys.current();
    vault.fail({ kind: "throttle", retryAfter: 60, path: old });
    await expect(keys.candidates(old)).rejects.toMatchObject({ kind: "unavailable" });
    expect((await keys.candidates(old)).map(({ length }) => length)).toEqual([32]);
  });

  test("returns no key for a text that cannot be a version, and asks the vault nothing", async () => {
    newKey();
    const keys = ring();
    await keys.current();
    const before = reads();
    expect(await keys.candidates("../another/key")).toEqual([]);
    expect(reads()).toBe(before);
    expect(lines.join()).not.toContain("secret.version_missing");
  });

  test("logs a missing version once, also when it remembers as many as it may", async () => {
    const none = {
      ...secrets,
      get: async () => undefined,
      getVersion: async () => undefined,
      versions: async () => [],
    };
    const keys = keyRing(none, name, options);
    const versionOf = (n: number) => n.toString(16).padStart(32, "0");
    const logged = () => lines.filter(line => line.includes("secret.version_missing")).length;
    for (let n = 0; n < 1000; n++) await keys.candidates(versionOf(n));
    for (const n of [0, 999]) await keys.candidates(versionOf(n));
    expect(logged()).toBe(1000);
    await keys.candidates(versionOf(1000));
    await keys.candidates(versionOf(0));
    expect(logged()).toBe(1002);
  });

  test("offers every enabled version for one that the vault does not have, by one list in five minutes", async () => {
    const off = newKey();
    const disabled = (await secrets.get(name))?.version ?? "";
    await secrets.disable(name, disabled);
    const [one, two] = [newKey(), newKey()];
    vault.set(name, "no key");
    const three = newKey();
    const keys = ring();
    await keys.current();
    const hex = (all: readonly Uint8Array[]) => all.map(key => Buffer.from(key).toString("hex")).sort();
    const offered = hex(await keys.candidates("0".repeat(32)));
    expect(offered).toEqual(expect.arrayContaining(hex([one, two, three])));
    expect(offered).not.toContain(off.toString("hex"));
    const before = reads();
    expect(hex(await keys.candidates("0".repeat(32)))).toEqual(offered);
    expect(reads()).toBe(before);
    expect(lines.filter(line => line.includes("secret.version_missing"))).toHaveLength(1);
    const four = newKey();
    clock += minutes(5);
    expect(hex(await keys.candidates("0".repeat(32)))).toContain(four.toString("hex"));
  });
});
