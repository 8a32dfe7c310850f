import * as crypto from "node:crypto";
import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  createPasswordHasher,
  defaultCost,
  type PasswordHashOptions,
  type StoredPassword,
} from "../../../../lib/auth/passwords/password-hash.ts";
import type { KeyRing } from "../../../../lib/platform/crypto.ts";
import { instant } from "../../../../lib/platform/time.ts";

const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 };
type Versions = readonly (readonly [version: string, key: Uint8Array])[];
const ringOf = (...versions: Versions): KeyRing => ({
  current: async () => {
    const [version, key] = versions.at(-1) ?? [];
    if (version === undefined || key === undefined) throw new Error("no vault");
    return { version, key };
  },
  candidates: async wanted => {
    const key = new Map(versions).get(wanted);
    return key === undefined ? versions.map(([, each]) => each) : [key];
  },
});
const first = ["p1", randomBytes(32)] as const;
const second = ["p2", randomBytes(32)] as const;
const hasherOf = (options: Partial<PasswordHashOptions> = {}) =>
  createPasswordHasher({
    pepper: ringOf(first),
    random: bytes => randomBytes(bytes),
    now: () => instant(Date.now()),
    maxConcurrent: 2,
    maxSlots: 100,
    maxWaitMs: 60_000,
    cost: cheap,
    ...options,
  });
const hasher = hasherOf();
const userId = 42;
const owner = (password: StoredPassword) => ({ id: userId, password });
/** A hasher whose queue has no slot. */
const fullHasher = () => hasherOf({ maxSlots: 0 });

describe("a stored password", () => {
  it.each(["correct horse", " spaces stay ", "é日🔑", "x".repeat(1024), `${"x".repeat(1023)}\u0000`])(
    "is matched by what was hashed alone (%#)",
    async password => {
      const stored = await hasher.hash(password, userId);
      expect(await hasher.verify(password, owner(stored))).toBe(true);
      expect(await hasher.verify(`${password}.`, owner(stored))).toBe(false);
      expect(await hasher.verify(password.slice(1), owner(stored))).toBe(false);
    },
  );

  it("is matched in any normal form", async () => {
    const stored = await hasher.hash("caf\u00e9 caf\u00e9", userId);
    expect(await hasher.verify("cafe\u0301 cafe\u0301", owner(stored))).toBe(true);
  });

  it("is a PHC string of argon2id at the decided cost, with a salt of its own and the pepper's version beside it", async () => {
    const hashing = hasherOf({ cost: defaultCost });
    const stored = await hashing.hash("correct horse", userId);
    expect(stored.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(stored.pepper).toBe("p1");
    expect((await hashing.hash("correct horse", userId)).hash).not.toBe(stored.hash);
  });

  it("is not matched for another user, to whom its hash was moved, or under another pepper", async () => {
    const password = await hasher.hash("correct horse", userId);
    expect(await hasher.verify("correct horse", { id: userId + 1, password })).toBe(false);
    const other = hasherOf({ pepper: ringOf(["p1", randomBytes(32)]) });
    expect(await other.verify("correct horse", owner(password))).toBe(false);
  });

  it("is matched under the pepper of its version after the pepper was replaced", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const rotated = hasherOf({ pepper: ringOf(first, second) });
    expect(await rotated.verify("correct horse", owner(stored))).toBe(true);
    expect(await rotated.hash("correct horse", userId)).toMatchObject({ pepper: "p2" });
  });

  it("is matched by a pepper that another vault has under another version, and is then outdated", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const elsewhere = hasherOf({ pepper: ringOf(["q1", first[1]], ["q2", randomBytes(32)]) });
    expect(await elsewhere.verify("correct horse", owner(stored))).toBe(true);
    expect(await elsewhere.verify("wrong horse", owner(stored))).toBe(false);
    expect(await elsewhere.isOutdated(stored)).toBe(true);
  });

  it("is checked with one pepper only, once a right password has shown which one belongs to a version of another vault", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const { ring, count } = countingRing(["q1", randomBytes(32)], ["q2", first[1]], ["q3", randomBytes(32)]);
    const elsewhere = hasherOf({ pepper: ring });
    expect(await elsewhere.verify("wrong horse", owner(stored))).toBe(false);
    expect(await elsewhere.verify("correct horse", owner(stored))).toBe(true);
    expect(count()).toBe(2);
    expect(await elsewhere.verify("wrong horse", owner(stored))).toBe(false);
    expect(await elsewhere.verify("correct horse", owner(stored))).toBe(true);
    expect(count()).toBe(2);
    expect(await elsewhere.verify("correct horse", owner({ ...stored, pepper: "another" }))).toBe(true);
    expect(count()).toBe(3);
  });

  it("has its pepper forgotten after a thousand other versions, so that memory is bounded", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const { ring, count } = countingRing(first, second);
    const elsewhere = hasherOf({ pepper: ring });
    for (let n = 0; n <= 1000; n++) await elsewhere.verify("correct horse", owner({ ...stored, pepper: `v${n}` }));
    expect(count()).toBe(1001);
    await elsewhere.verify("correct horse", owner({ ...stored, pepper: "v1000" }));
    expect(count()).toBe(1001);
    await elsewhere.verify("correct horse", owner({ ...stored, pepper: "v0" }));
    expect(count()).toBe(1002);
  });

  it("takes one place in the queue, with however many peppers it is checked", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const pepper = ringOf(["q1", randomBytes(32)], ["q2", randomBytes(32)], ["q3", first[1]]);
    const elsewhere = hasherOf({ pepper, maxConcurrent: 1 });
    const done: string[] = [];
    await Promise.all([
      elsewhere.verify("correct horse", owner(stored)).then(() => done.push("three peppers")),
      elsewhere.verify("correct horse", owner({ ...stored, pepper: "q3" })).then(() => done.push("one pepper")),
    ]);
    expect(done).toEqual(["three peppers", "one pepper"]);
  });

  it("fails as an outage, not as a wrong password, where there is no pepper to check it with", async () => {
    const stored = await hasher.hash("correct horse", userId);
    const without = hasherOf({ pepper: { ...ringOf(second), candidates: async () => [] } });
    await expect(without.verify("correct horse", owner(stored))).rejects.toThrow(
      "The secret password-pepper has no version p1, and no other",
    );
  });

  it("is outdated when cost, pepper or scheme are not today's", async () => {
    const stored = await hasher.hash("correct horse", userId);
    expect(await hasher.isOutdated(stored)).toBe(false);
    expect(await hasherOf({ pepper: ringOf(first, second) }).isOutdated(stored)).toBe(true);
    for (const change of [{ memoryCost: 65 }, { timeCost: 2 }, { parallelism: 2 }])
      expect(await hasherOf({ cost: { ...cheap, ...change } }).isOutdated(stored)).toBe(true);
    const { hash } = await import("@node-rs/argon2");
    expect(await hasher.isOutdated({ ...stored, hash: await hash("x", { ...cheap, algorithm: 1 }) })).toBe(true);
  });
});

describe("a password without a stored one", () => {
  it("matches no user if it is empty, without a slot of the hasher for any name", async () => {
    const full = fullHasher();
    for (const given of [undefined, owner(await hasher.hash("correct horse", userId))]) {
      expect(await full.verify("", given)).toBe(false);
    }
  });

  it("takes its turn among the hashes as a wrong one does, so that an unknown user costs the same", async () => {
    const stored = await hasher.hash("correct horse", userId);
    for (const given of [owner(stored), undefined]) {
      await expect(fullHasher().verify("wrong", given)).rejects.toMatchObject({ kind: "unavailable" });
      const calls = countingRing(first);
      expect(await hasherOf({ pepper: calls.ring }).verify("wrong", given)).toBe(false);
      expect(calls.count()).toBe(1);
    }
    // A cost that the algorithm has not fails as well.
    const impossible = hasherOf({ cost: { ...cheap, memoryCost: 1 } });
    await expect(impossible.verify("wrong", undefined)).rejects.toThrow();
  });
});

describe("hashes in flight", () => {
  it("release their slot when they end, also when they fail", async () => {
    const broken = hasherOf({ maxSlots: 4, pepper: ringOf() });
    const slot = () => broken.acquireHashSlot({ isKnown: false });
    for (let n = 0; n < 20; n++) {
      await expect(broken.verify("wrong", undefined, slot())).rejects.toThrow("no vault");
      await expect(broken.hash("correct horse", userId)).rejects.toThrow("no vault");
    }
  });
});

describe.skipIf(!("argon2Sync" in crypto))("compared with node:crypto's argon2", () => {
  it("the hash is that of the base64 of HMAC-SHA-256 by the pepper over the user id in 16 digits and the password in NFC", async () => {
    const { argon2Sync } = crypto as unknown as { argon2Sync: (kind: string, options: object) => Buffer };
    const { hash } = await hasherOf({ cost: defaultCost }).hash("cafe\u0301 au lait", userId);
    const [salt = "", tag = ""] = hash.split("$").slice(-2);
    const message = createHmac("sha256", first[1]).update("0000000000000042caf\u00e9 au lait", "utf8").digest("base64");
    const expected = argon2Sync("argon2id", {
      message,
      nonce: Buffer.from(salt, "base64"),
      parallelism: 1,
      tagLength: 32,
      memory: 19_456,
      passes: 2,
    });
    expect(tag).toBe(expected.toString("base64").replace(/=+$/, ""));
  });
});

function countingRing(...versions: Versions): { ring: KeyRing; count: () => number } {
  let count = 0;
  const counted =
    <A extends unknown[], R>(read: (...args: A) => R) =>
    (...args: A) => {
      count += 1;
      return read(...args);
    };
  const { current, candidates } = ringOf(...versions);
  return { ring: { current: counted(current), candidates: counted(candidates) }, count: () => count };
}
