import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createToken, hashesOf, revokeToken, type TokenHashes } from "../../../lib/http/api-tokens.ts";
import { bearerCheck, type TokenHash } from "../../../lib/http/bearer.ts";

const now = () => "2026-01-31T10:00:00.000Z";
const random = (bytes: number) => randomBytes(bytes);

/** A vault's secret, whose writers may come between a read and a write. */
function vault(beforeWrite: (write: (hashes: readonly TokenHash[]) => void) => void = () => {}) {
  let text: string | undefined;
  const hashes: TokenHashes = {
    known: async () => hashesOf(text),
    read: async () => hashesOf(text),
    write: async all => {
      text = JSON.stringify(all);
      beforeWrite(others => {
        text = JSON.stringify(others);
      });
    },
  };
  return { hashes, text: () => text };
}

const checkOf = (hashes: TokenHashes) =>
  bearerCheck({ surface: "core", role: "Core.Admin", tokenHashes: hashes.known, fetch, now });
const bearing = (token: string) => new Headers({ authorization: `Bearer ${token}` });

describe("static API tokens (decision G3)", () => {
  it("are accepted from their creation to their revocation, and the vault holds their hash alone", async () => {
    const { hashes, text } = vault();
    const check = checkOf(hashes);
    const { token, hash } = await createToken("ITSM", "core", { hashes, now, random });
    expect(await check(bearing(token))).toEqual({ kind: "api_token", application: hash.id });
    expect(text()).not.toContain(token.split("_")[2]);
    await revokeToken(hash.id, hashes);
    await expect(check(bearing(token))).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  it("are not lost to another writer of the same secret", async () => {
    let disturbed = false;
    const { hashes } = vault(write => {
      if (!disturbed) write([]);
      disturbed = true;
    });
    const { hash } = await createToken("first", "core", { hashes, now, random });
    expect((await hashes.read()).map(({ id }) => id)).toEqual([hash.id]);
  });

  it("can be revoked only where they exist", async () => {
    await expect(revokeToken("00000000", vault().hashes)).rejects.toMatchObject({ kind: "not_found" });
  });
});
