import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  createBearerCheck,
  createToken,
  revokeToken,
  type TokenHash,
  type TokenHashes,
} from "../../../../lib/platform/http/bearer.ts";
import { createLog } from "../../../../lib/platform/log.ts";

const now = () => "2026-01-31T10:00:00.000Z";
const random = (bytes: number) => randomBytes(bytes);

/** Hashes that are stored in memory. */
function inMemory() {
  const all = new Map<string, TokenHash>();
  const hashes: TokenHashes = {
    known: async () => [...all.values()],
    lookUp: async () => [...all.values()],
    tag: async text => createHash("sha256").update(text).digest(),
    read: async () => [...all.values()],
    add: async hash => void all.set(hash.id, hash),
    recordUse: () => {},
    revoke: async id => all.delete(id),
  };
  return { hashes, text: () => JSON.stringify([...all.values()]) };
}

const checkOf = (hashes: TokenHashes) =>
  createBearerCheck({ api: "core", tokens: hashes, fetch, now, log: createLog(() => {}) });
const bearing = (token: string) => new Headers({ authorization: `Bearer ${token}` });

describe("static API tokens", () => {
  it("are accepted from their creation to their revocation, and only their hash is stored", async () => {
    const { hashes, text } = inMemory();
    const check = checkOf(hashes);
    const { token, hash } = await createToken("ITSM", "core", { hashes, now, random });
    expect(await check(bearing(token))).toEqual({ kind: "api_token", application: hash.id });
    expect(text()).not.toContain(token.split("_").slice(2).join("_"));
    await revokeToken(hash.id, hashes);
    await expect(check(bearing(token))).rejects.toMatchObject({ kind: "unauthenticated", reason: "unknown_api_token" });
  });

  it("are at most 100, so that few requests read them", async () => {
    const { hashes } = inMemory();
    for (let n = 0; n < 100; n++) await createToken(`token ${n}`, "core", { hashes, now, random });
    await expect(createToken("one more", "core", { hashes, now, random })).rejects.toMatchObject({ kind: "conflict" });
  });

  it("can be revoked only where they exist", async () => {
    await expect(revokeToken("00000000", inMemory().hashes)).rejects.toMatchObject({ kind: "not_found" });
  });
});
