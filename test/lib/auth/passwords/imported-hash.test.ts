import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { OverloadFault } from "../../../../lib/auth/passwords/hash-queue.ts";
import { computeTag, type ImportedHash, parseImportedHash } from "../../../../lib/auth/passwords/imported-hash.ts";
import type { PasswordHashOptions } from "../../../../lib/auth/passwords/password-hash.ts";
import { hours, type Instant, instant, plus } from "../../../../lib/platform/time.ts";
import { cheapHasher } from "../../../support/auth/cheap-hashes.ts";

import made from "../../../support/auth/imported-hashes.json" with { type: "json" };

/** Of the documentation of passlib and of the reference implementation of Argon2; the password is `password`. */
const published = [
  "$5$rounds=80000$wnsT7Yr92oJoP28r$cKhJImk5mfuSKV9b3mumNzlbstFUplKtQXXMo4G6Ep5",
  "$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44",
  "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
  "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
];
const hashes = [...(made as [string, string][]), ...published.map(hash => ["password", hash] as const)];

const parse = (text: string): ImportedHash => {
  const parsed = parseImportedHash(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
};

const userId = 42;
const now = instant(Date.now());
const hasherOf = (options: Partial<PasswordHashOptions> = {}) =>
  cheapHasher({ random: bytes => randomBytes(bytes), now: () => now }, options);
const hasher = hasherOf();
const ownerOf = async (text: string) => ({ id: userId, password: await hasher.hashImported(parse(text), userId) });

describe("a password whose hash another server made", () => {
  it.each(hashes)("is right, and no other is (%#: %s)", async (password, text) => {
    const owner = await ownerOf(text);
    expect(await hasher.verify(password, owner)).toBe(true);
    expect(await hasher.verify(`x${password}`, owner)).toBe(false);
  });

  it("is not in the stored hash: neither hash nor tag of the other server", async () => {
    for (const [, text] of hashes) {
      const { tag } = parse(text);
      const stored = JSON.stringify(await hasher.hashImported(parse(text), userId));
      expect(stored).not.toContain(tag);
    }
  });

  it("is not matched by the tag, by another user, or under another pepper", async () => {
    const [[password, text] = ["", ""]] = hashes;
    const { password: stored } = await ownerOf(text);
    expect(await hasher.verify(parse(text).tag, { id: userId, password: stored })).toBe(false);
    expect(await hasher.verify(password, { id: userId + 1, password: stored })).toBe(false);
    const key = new Uint8Array(32).fill(7);
    const other = hasherOf({ pepper: { current: async () => ({ version: "1", key }), candidates: async () => [key] } });
    expect(await other.verify(password, { id: userId, password: stored })).toBe(false);
  });

  it("is outdated until it is hashed anew", async () => {
    const [[password, text] = ["", ""]] = hashes;
    const { password: stored } = await ownerOf(text);
    expect(await hasher.isOutdated(stored)).toBe(true);
    expect(await hasher.isOutdated(await hasher.hash(password, userId))).toBe(false);
  });

  it("is recognised if the same hash is imported again", async () => {
    const [[, text] = ["", ""], [, other] = ["", ""]] = hashes;
    const owner = await ownerOf(text);
    expect(await hasher.isImported(parse(text), owner)).toBe(true);
    expect(await hasher.isImported(parse(other), owner)).toBe(false);
    const { parameters } = parse(text);
    expect(await hasher.isImported({ parameters, tag: parse(other).tag }, owner)).toBe(false);
    expect(await hasher.isImported(parse(text), { id: userId })).toBe(false);
  });

  it("is checked as it was typed, not normalised", async () => {
    const password = "cafe\u0301 cafe\u0301";
    const { parameters } = parse(hashes[0]?.[1] ?? "");
    const stored = await hasher.hashImported({ parameters, tag: await computeTag(password, parameters) }, userId);
    expect(await hasher.verify(password, { id: userId, password: stored })).toBe(true);
    expect(await hasher.verify(password.normalize("NFC"), { id: userId, password: stored })).toBe(false);
  });

  it("is right until the end of imported hashes, and wrong from then on", async () => {
    const [[password, text] = ["", ""]] = hashes;
    const owner = await ownerOf(text);
    const until = (importedUntil: Instant) => hasherOf({ importedUntil });
    expect(await until(plus(now, 1)).verify(password, owner)).toBe(true);
    expect(until(plus(now, 1)).hasEnded(owner.password)).toBe(false);
    expect(await until(now).verify(password, owner)).toBe(false);
    expect(until(now).hasEnded(owner.password)).toBe(true);
    const renewed = { id: userId, password: await hasher.hash(password, userId) };
    expect(await until(plus(now, -hours(1))).verify(password, renewed)).toBe(true);
  });

  it("takes a slot of the queue wherever it is hashed or checked", async () => {
    const [[password, text] = ["", ""]] = hashes;
    const owner = await ownerOf(text);
    const full = hasherOf({ maxSlots: 0 });
    await expect(full.verify(password, owner)).rejects.toBeInstanceOf(OverloadFault);
    await expect(full.hashImported(parse(text), userId)).rejects.toBeInstanceOf(OverloadFault);
    await expect(full.isImported(parse(text), owner)).rejects.toBeInstanceOf(OverloadFault);
  });

  it("is computed in the turn of the check, so that no more hashes are in progress than allowed", async () => {
    const [[password, text] = ["", ""]] = hashes;
    const owner = await ownerOf(text);
    const single = hasherOf({ maxConcurrent: 1 });
    const ended: string[] = [];
    const imported = single.verify(password, owner).then(() => ended.push("imported"));
    await setImmediate();
    await Promise.all([imported, single.hash("another", userId).then(() => ended.push("own"))]);
    expect(ended).toEqual(["imported", "own"]);
  });

  it("is refused after the work of an unknown user, if it has ended or is too long", async () => {
    let drawn = 0;
    const key = new Uint8Array(32);
    const pepper = {
      current: async () => {
        drawn++;
        return { version: "1", key };
      },
      candidates: async () => [key],
    };
    const owner = await ownerOf(hashes[0]?.[1] ?? "");
    const worked = async (options: Partial<PasswordHashOptions>, password: string, of?: typeof owner) => {
      drawn = 0;
      expect(await hasherOf({ pepper, ...options }).verify(password, of)).toBe(false);
      return drawn;
    };
    expect(await worked({}, "any")).toBe(1);
    expect(await worked({ importedUntil: now }, "any", owner)).toBe(1);
    expect(await worked({}, "x".repeat(129), owner)).toBe(1);
    expect(await worked({}, "x".repeat(128), owner)).toBe(0);
  });

  it("is wrong without the work of a crypt scheme if it has more than 128 bytes, because the work grows with the length", async () => {
    const { parameters } = parse(made[0]?.[1] ?? "");
    for (const password of [`${"é".repeat(63)}x`, `${"é".repeat(64)}x`]) {
      const stored = await hasher.hashImported({ parameters, tag: await computeTag(password, parameters) }, userId);
      expect(await hasher.verify(password, { id: userId, password: stored })).toBe(password.length === 64);
    }
  });

  it("of 32 bytes (sha256-crypt) or 64 bytes (sha512-crypt) is wrong: unixcrypt computes another tag there", async () => {
    // By crypt(3). If this fails, the package is corrected: remove the limit from docs/import.md.
    for (const [length, text] of [
      [32, "$5$rounds=1000$saltsalt$zIgkApWwdNpvGlUFh5IVRswzZRYQ6NQwQm/HRf1c1S5"],
      [
        64,
        "$6$rounds=1000$saltsalt$gCxb/bk1pEYYj49pWTQy7dmaGCUO2uGOjqpdpnkySSPF22xfnW2VvIIZm5o8f2l/pzLtPgoTmCFcJfj3zusCs0",
      ],
    ] as const)
      expect(await hasher.verify("c".repeat(length), await ownerOf(text))).toBe(false);
  });
});

describe("a hash to import", () => {
  const tag43 = "A".repeat(43);
  const argon2id = (cost: string) => `$argon2id$v=19$${cost}$c29tZXNhbHQ$${tag43}`;
  it.each([
    ["660000", "660001", "660000 rounds", (cost: string) => `$5$rounds=${cost}$salt$${tag43}`],
    ["660000", "660001", "660000 rounds", (cost: string) => `$6$rounds=${cost}$salt$${tag43}${tag43}`],
    ["13", "14", "cost 13", (cost: string) => `$2b$${cost}$${"a".repeat(53)}`],
    ["2000000", "2000001", "2000000 iterations", (cost: string) => `$pbkdf2-sha256$${cost}$c2Fs$${tag43}`],
    ["2000000", "2000001", "2000000 iterations", (cost: string) => `$pbkdf2-sha512$${cost}$c2Fs$${tag43}${tag43}`],
    ["2000000", "2000001", "2000000 iterations", (cost: string) => `pbkdf2_sha256$${cost}$c2Fs$${tag43}=`],
    ["m=65536,t=16,p=16", "m=65536,t=17,p=1", "m times t 1048576", argon2id],
    ["m=8,t=131072,p=1", "m=65537,t=1,p=1", "m=65536", argon2id],
    ["m=136,t=1,p=16", "m=136,t=1,p=17", "p=16", argon2id],
  ] as const)("may have the highest cost %s and not %s", (highest, higher, reason, of) => {
    expect(parseImportedHash(of(highest))).toMatchObject({ ok: true });
    expect(parseImportedHash(of(higher))).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });

  it.each([
    `$5$rounds=999$salt$${tag43}`,
    `$5$rounds=1000$${"s".repeat(17)}$${tag43}`,
    `$5$salt$${"A".repeat(86)}`,
    `$6$salt$${tag43}`,
    `$5$sa lt$${tag43}`,
    `$2b$03$${"a".repeat(53)}`,
    `$2b$32$${"a".repeat(53)}`,
    `$2b$10$${"a".repeat(52)}`,
    `$pbkdf2-sha256$0$c2Fs$${tag43}`,
    `$pbkdf2-sha256$1000$c2Fs$${"A".repeat(86)}`,
    `$pbkdf2-sha512$1000$c2Fs$${tag43}`,
    `$pbkdf2-sha256$1000$c2Fs$${"A".repeat(42)}B`,
    `$pbkdf2-sha1$1000$c2Fs$${tag43}`,
    `pbkdf2_sha256$1000$c2Fs$${tag43}`,
    `pbkdf2_sha256$1000$$${tag43}=`,
    `$argon2id$v=16$m=256,t=2,p=2$c29tZXNhbHQ$${tag43}`,
    `$argon2id$v=19$m=15,t=2,p=2$c29tZXNhbHQ$${tag43}`,
    `$argon2id$v=19$m=256,t=0,p=2$c29tZXNhbHQ$${tag43}`,
    `$argon2id$v=19$m=256,t=2,p=2,keyid=AA$c29tZXNhbHQ$${tag43}`,
  ])("is refused as malformed: %s", text => {
    expect(parseImportedHash(text)).toEqual({ ok: false, reason: "is malformed" });
  });

  it.each(["", "secret", "$1$salt$tag", "$2x$10$tag", "$argon2i$v=19$m=256,t=2,p=2$a$b", "{SSHA}tag"])(
    "is refused with the known formats if it has another: %s",
    text => {
      expect(parseImportedHash(text)).toMatchObject({ ok: false, reason: expect.stringMatching(/^must begin with/) });
    },
  );
});
