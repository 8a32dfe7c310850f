import { randomBytes } from "node:crypto";
import { CompactEncrypt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { createSealer, hashOf, type KeyRing, SealError } from "../../../lib/platform/crypto.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { measureCpu } from "../../support/cpu-time.ts";

const place = { table: "credentialrequests", row: "9b1f/key:s-01-001", purpose: "response-key" };

/** A ring of versions in memory; the last one is current. */
const ringOf = (...versions: readonly (readonly [version: string, key: Uint8Array])[]): KeyRing => ({
  current: async () => {
    const [version, key] = versions.at(-1) ?? [];
    if (version === undefined || key === undefined) throw new Fault("unavailable", "no vault");
    return { version, key };
  },
  candidates: async wanted => {
    const key = new Map(versions).get(wanted);
    return key === undefined ? versions.map(([, each]) => each) : [key];
  },
});
const first = ["v1", randomBytes(32)] as const;
const second = ["v2", randomBytes(32)] as const;
const sealer = createSealer(ringOf(first));
const rotatedTo = (version: string) => createSealer(ringOf(first, [version, randomBytes(32)]));
const part = (sealed: string, index: number) => sealed.split(".")[index] ?? "";

describe("a sealed value", () => {
  test.each(["", "secret", "é日🔑\u0000", "x".repeat(100_000)])("opens in its place to what was sealed", async text => {
    expect(await sealer.open(await sealer.seal(text, place), place)).toBe(text);
  });

  test("is a compact JWE by AES-256-GCM key wrap that names the key's version and its place", async () => {
    const sealed = await sealer.seal("secret", place);
    expect(decodeProtectedHeader(sealed)).toMatchObject({ alg: "A256GCMKW", enc: "A256GCM", kid: "v1", ...place });
    expect(sealed.split(".")).toHaveLength(5);
  });

  test("is another each time", async () => {
    const [a, b] = [await sealer.seal("secret", place), await sealer.seal("secret", place)];
    for (const index of [1, 2, 3, 4]) expect(part(a, index)).not.toBe(part(b, index));
  });

  test.each(["table", "row", "purpose"] as const)("does not open with another %s", async name => {
    const sealed = await sealer.seal("secret", place);
    await expect(sealer.open(sealed, { ...place, [name]: "other" })).rejects.toThrow(
      new SealError(`Sealed for another ${name}`),
    );
  });

  test("cannot be given another place by changing its header", async () => {
    const sealed = await sealer.seal("secret", place);
    const header = { ...decodeProtectedHeader(sealed), row: "other" };
    const moved = [Buffer.from(JSON.stringify(header)).toString("base64url"), ...sealed.split(".").slice(1)].join(".");
    await expect(sealer.open(moved, { ...place, row: "other" })).rejects.toThrow(SealError);
  });

  test("does not open when any part of it was changed", async () => {
    const sealed = await sealer.seal("secret", place);
    for (const index of [1, 2, 3, 4]) {
      const parts = sealed.split(".");
      parts[index] = `${part(sealed, index).startsWith("A") ? "B" : "A"}${part(sealed, index).slice(1)}`;
      await expect(sealer.open(parts.join("."), place)).rejects.toThrow(SealError);
    }
  });

  test.each([
    { alg: "dir", enc: "A256GCM" },
    { alg: "A256KW", enc: "A256GCM" },
    { alg: "A256GCMKW", enc: "A128GCM" },
  ])("by other algorithms ($alg, $enc) does not open, though the key fits", async algorithms => {
    const forged = await new CompactEncrypt(new TextEncoder().encode("secret"))
      .setProtectedHeader({ ...algorithms, kid: "v1", ...place })
      .encrypt(first[1]);
    await expect(sealer.open(forged, place)).rejects.toThrow(SealError);
  });

  test.each(["", "not sealed", "a.b.c.d.e", "e30....", "eyJraWQiOjF9...."])("is not %j", async text => {
    await expect(sealer.open(text, place)).rejects.toThrow(SealError);
    expect(await rotatedTo("v2").renew(text, place)).toBeUndefined();
  });

  test("does not open by a key of the same version that is another", async () => {
    const sealed = await sealer.seal("secret", place);
    await expect(createSealer(ringOf(["v1", randomBytes(32)])).open(sealed, place)).rejects.toThrow(SealError);
  });

  test("names its key version in the error when no key of the vault opens it", async () => {
    const sealed = await sealer.seal("secret", place);
    await expect(createSealer(ringOf(second)).open(sealed, place)).rejects.toThrow(/[Kk]ey version v1 /);
  });

  test("opens by a key that another vault has under another version, and is sealed again under its current version", async () => {
    const sealed = await sealer.seal("secret", place);
    const elsewhere = createSealer(ringOf(["w1", first[1]], ["w2", randomBytes(32)]));
    expect(await elsewhere.open(sealed, place)).toBe("secret");
    const renewed = (await elsewhere.renew(JSON.stringify({ sealed }), place)) ?? "{}";
    expect(decodeProtectedHeader(JSON.parse(renewed).sealed).kid).toBe("w2");
    await expect(elsewhere.open(sealed, { ...place, row: "other" })).rejects.toThrow("Sealed for another row");
  });
});

describe("after rotation", () => {
  const rotated = createSealer(ringOf(first, second));

  test("an old value still opens and is not current; a new one is sealed under the new version", async () => {
    const old = await sealer.seal("old", place);
    const renewed = await rotated.seal("new", place);
    expect(await rotated.open(old, place)).toBe("old");
    expect(await rotated.open(renewed, place)).toBe("new");
    expect(decodeProtectedHeader(renewed).kid).toBe("v2");
    expect([typeof (await rotated.renew(old, place)), await rotated.renew(renewed, place)]).toEqual([
      "string",
      undefined,
    ]);
  });

  test("all old values in a text are sealed again, each with its context; new values and values of other rows stay", async () => {
    const other = { ...place, purpose: "other" };
    const [one, two] = [await sealer.seal("one", place), await sealer.seal("two", other)];
    const current = await rotated.seal("current", place);
    const foreign = await new CompactEncrypt(new TextEncoder().encode("foreign"))
      .setProtectedHeader({ alg: "A256GCMKW", enc: "A256GCM", kid: "v1" })
      .encrypt(first[1]);
    const text = JSON.stringify({ list: [{ one, again: one }], two, current, foreign, "eyJ.": 'eyJ"' });
    const renewed = JSON.parse((await rotated.renew(text, place)) ?? "");
    expect(renewed).toEqual({ ...JSON.parse(text), list: [expect.anything()], two: expect.anything() });
    expect(renewed.list[0].again).toBe(renewed.list[0].one);
    for (const value of [renewed.list[0].one, renewed.two]) expect(decodeProtectedHeader(value).kid).toBe("v2");
    expect(await rotated.open(renewed.list[0].one, place)).toBe("one");
    expect(await rotated.open(renewed.two, other)).toBe("two");
    await expect(rotated.open(renewed.two, place)).rejects.toThrow(SealError);
    expect(await rotated.renew(JSON.stringify(renewed), place)).toBeUndefined();
  });

  test.each(["table", "row"] as const)("a value that names another %s is text: no key is asked for", async name => {
    const elsewhere = { ...place, [name]: "other" };
    const asked: string[] = [];
    const ring = ringOf(first, second);
    const watched = createSealer({
      ...ring,
      candidates: version => {
        asked.push(version);
        return ring.candidates(version);
      },
    });
    const typed = await sealer.seal("typed", elsewhere);
    expect(await watched.renew(JSON.stringify({ external_id: typed }), place)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("texts of the longest column are searched in linear time with any repetition", async () => {
    const size = 32_768;
    const texts = ["eyJ", "eyJ.", "eyJ.a.b.c", ".", "eyJhIjp7", "-"].map(unit =>
      unit.repeat(size / unit.length).slice(0, size),
    );
    const cpuMs = measureCpu();
    for (const text of texts) expect(await rotated.renew(text, place)).toBeUndefined();
    expect(cpuMs()).toBeLessThan(500);
  });

  test("a value that does not open is not sealed again", async () => {
    const old = await sealer.seal("old", place);
    await expect(rotated.renew(`${old.slice(0, -4)}AAAA`, place)).rejects.toThrow(SealError);
  });
});

test("no error of sealing contains the content", async () => {
  const sealed = await sealer.seal("the-secret", place);
  const broken = `${sealed.slice(0, -4)}AAAA`;
  const errors = await Promise.all([
    sealer.open(broken, place).catch((error: Error) => error),
    sealer.open(sealed, { ...place, row: "other" }).catch((error: Error) => error),
    sealer.open("the-secret", place).catch((error: Error) => error),
  ]);
  for (const error of errors as Error[])
    expect(`${error.stack} ${(error.cause as Error | undefined)?.stack}`).not.toContain("the-secret");
});

test("the current version of the key is the one that seals", async () => {
  expect(await createSealer(ringOf(first, second)).currentVersion()).toBe("v2");
});

test("a vault that is away stays what it is: unavailable, not a broken value", async () => {
  const away = createSealer(ringOf());
  await expect(away.seal("secret", place)).rejects.toMatchObject({ kind: "unavailable" });
});

test("the hash of a stored secret is its SHA-256 in base64url", () => {
  expect(hashOf("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});
