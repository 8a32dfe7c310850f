import { describe, expect, it } from "vitest";
import { keyedHash } from "../../../lib/platform/crypto.ts";

const bytes = (fill: number) => new Uint8Array(32).fill(fill);

describe("a keyed hash", () => {
  it("derives its key once for each version of the pepper, because anonymous calls use it", async () => {
    let key = bytes(1);
    const hash = keyedHash({ current: async () => ({ version: "1", key }) }, "a purpose");
    const first = await hash("a text");
    // Another derivation from the same array would now give another key.
    key.fill(3);
    expect(await hash("a text")).toEqual(first);
    key = bytes(2);
    expect(await hash("a text")).not.toEqual(first);
  });

  it("differs by purpose", async () => {
    const pepper = { current: async () => ({ version: "1", key: bytes(1) }) };
    const [one, other] = await Promise.all(["one", "other"].map(purpose => keyedHash(pepper, purpose)("a text")));
    expect(one).not.toEqual(other);
  });

  it("works after the pepper could not be read", async () => {
    let isAway = true;
    const read = async () => {
      if (isAway) throw new Error("the vault is away");
      return { version: "1", key: bytes(1) };
    };
    const hash = keyedHash({ current: read }, "a purpose");
    await expect(hash("a text")).rejects.toThrow("away");
    isAway = false;
    expect(await hash("a text")).toHaveLength(32);
  });
});
