import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { apiTokens } from "../../../../lib/platform/azure/api-tokens.ts";
import type { Secrets, SecretVersion } from "../../../../lib/platform/azure/secrets.ts";
import type { ApiToken } from "../../../../lib/platform/caller.ts";
import { hashOf } from "../../../../lib/platform/crypto.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { minutes } from "../../../../lib/platform/time.ts";

const key = randomBytes(32);

/** The tokens of the connector, in a vault in memory. */
function tokensIn(versions: SecretVersion[] = []) {
  const secrets = {
    versions: async () => [...versions],
    set: async (_: string, version: string, { tags = {} }: { tags?: Record<string, string> } = {}) =>
      void versions.push({ version, enabled: true, tags }),
    disable: async (_: string, version: string) =>
      void versions.splice(
        0,
        versions.length,
        ...versions.map(each => ({ ...each, enabled: each.version !== version })),
      ),
    setTags: async () => {},
  } as Partial<Record<keyof Secrets, unknown>> as Secrets;
  const now = () => "2026-01-31T10:00:00.000Z";
  const caching = { maxAgeMs: 0, refreshAfterMs: minutes(1), now, log: createLog(() => {}) };
  const dataKeyRing = { current: async () => ({ version: "v", key }), candidates: async () => [key] };
  return { tokens: apiTokens("connector", { secrets, caching, dataKeyRing, random: randomBytes }), versions };
}

const newToken = (api = "connector", id = "abcd2345") => `${api}_${id}_${randomBytes(32).toString("base64url")}`;
const stored = (token: string, more: Partial<ApiToken> = {}): SecretVersion => {
  const [, id = ""] = token.split("_");
  const tags = { id, name: "a program", sha256: hashOf(token), createdAt: "2026-01-01T00:00:00Z", ...more };
  return { version: `${id}-${token.slice(-3)}`, enabled: true, tags };
};
const refused = { kind: "unauthenticated", reason: "unknown_api_token" };

describe("a static token", () => {
  it("is accepted from its creation to its revocation, and only its hash is stored", async () => {
    const { tokens, versions } = tokensIn();
    const { token, stored } = await tokens.create("ITSM");
    expect(await tokens.check(token)).toEqual({ kind: "api_token", application: stored.id });
    expect(JSON.stringify(versions)).not.toContain(token.split("_").slice(2).join("_"));
    await tokens.revoke(stored.id);
    await expect(tokens.check(token)).rejects.toMatchObject(refused);
    await expect(tokens.revoke(stored.id)).rejects.toMatchObject({ kind: "not_found" });
  });

  it("is one of at most 100, so that few requests read them", async () => {
    const all = Array.from({ length: 99 }, (_, n) => stored(newToken("connector", String(n).padStart(8, "0"))));
    const { tokens } = tokensIn(all);
    await tokens.create("the last one");
    await expect(tokens.create("one more")).rejects.toMatchObject({ kind: "conflict" });
  });

  it("is accepted also beside others, and refused with a known id, a known hash or a part of it", async () => {
    const [token, other] = [newToken(), newToken("connector", "other234")];
    const { tokens } = tokensIn([stored(other), stored(token)]);
    expect(await tokens.check(token)).toMatchObject({ application: "abcd2345" });
    const hash = hashOf(token);
    for (const versions of [
      [],
      [stored(newToken())],
      [stored(other, { sha256: hash })],
      [stored(token, { sha256: hash.slice(1) })],
    ])
      await expect(tokensIn(versions).tokens.check(token)).rejects.toMatchObject(refused);
  });

  it("is refused with 403 by the other service, also if its hash is known there", async () => {
    const token = newToken("core");
    await expect(tokensIn([stored(token)]).tokens.check(token)).rejects.toMatchObject({
      kind: "forbidden",
      reason: "other_api",
    });
  });

  it("is refused in another form", async () => {
    await expect(tokensIn().tokens.check("connector_abcd2345_short")).rejects.toMatchObject({
      kind: "unauthenticated",
    });
  });
});
