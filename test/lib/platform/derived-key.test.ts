import { describe, expect, it } from "vitest";
import { derivedKey } from "../../../lib/platform/derived-key.ts";

const bytes = (fill: number) => new Uint8Array(32).fill(fill);

describe("a derived key", () => {
  it("is derived once for each version of the pepper, because anonymous calls use it", async () => {
    let key = bytes(1);
    const derive = derivedKey({ current: async () => ({ version: "1", key }) }, "a purpose");
    const first = await derive();
    expect(await derive()).toBe(first);
    key = bytes(2);
    expect((await derive()).equals(first)).toBe(false);
  });

  it("differs by purpose", async () => {
    const pepper = { current: async () => ({ version: "1", key: bytes(1) }) };
    const [one, other] = await Promise.all(["one", "other"].map(purpose => derivedKey(pepper, purpose)()));
    expect(one?.equals(other as NonNullable<typeof other>)).toBe(false);
  });

  it("is not remembered where the pepper cannot be read", async () => {
    let isAway = true;
    const read = async () => {
      if (isAway) throw new Error("the vault is away");
      return { version: "1", key: bytes(1) };
    };
    const derive = derivedKey({ current: read }, "a purpose");
    await expect(derive()).rejects.toThrow("away");
    isAway = false;
    expect((await derive()).symmetricKeySize).toBe(32);
  });
});
