import { describe, expect, it } from "vitest";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const prefixes = ["stockaa", "stockab", "stockb", "stockc", "stock"];
for (const prefix of prefixes) await auth.post("/core/otpkeys", hotpKey({ prefix }).fields);
const [user, other] = [await auth.makeUser(), await auth.makeUser()];
for (const { id } of [user, other]) await auth.post(`/core/users/${id}/otpkeys`, { otpkey: "stockab" });
await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: "stockc" });

const list = (query: Record<string, string>) => auth.get("/core/otpkeys", query);
const listed = async (query: Record<string, string>) =>
  ((await list(query)).body as readonly { prefix: string }[]).map(({ prefix }) => prefix);

describe("the list of OTP keys", () => {
  it("has those of the stock, or those that a user has", async () => {
    expect(await listed({ assigned: "false" })).toEqual(["stock", "stockaa", "stockb"]);
    expect(await listed({ assigned: "true" })).toEqual(["stockab", "stockc"]);
    await auth.call("DELETE", `/core/users/${user.id}/otpkeys/stockc`);
    expect(await listed({ assigned: "true" })).toEqual(["stockab"]);
    await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: "stockc" });
  });

  it("has those whose prefix begins with a text, in any case, and each once over its pages", async () => {
    expect(await listed({ $prefix: "STOCKA" })).toEqual(["stockaa", "stockab"]);
    expect(await listed({ $prefix: "stock", assigned: "false" })).toEqual(["stock", "stockaa", "stockb"]);
    expect(await listed({ $prefix: "stockz" })).toEqual([]);
    const paged: string[] = [];
    let query: Record<string, string> | undefined = { $prefix: "stock", $top: "2" };
    while (query !== undefined) {
      const { body, headers } = await list(query);
      paged.push(...(body as readonly { prefix: string }[]).map(({ prefix }) => prefix));
      const link = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1];
      query = link === undefined ? undefined : Object.fromEntries(new URL(link).searchParams);
    }
    expect(paged).toEqual([...prefixes].sort());
    expect(await list({ $prefix: "not a prefix" })).toMatchObject({
      status: 400,
      body: { error: "$prefix must be 1 to 32 letters and digits" },
    });
  });

  it("needs one read for a page of those of the stock", async () => {
    const { calls } = await auth.counted(() => list({ assigned: "false", $top: "10" }));
    expect(calls).toHaveLength(1);
  });
});

describe("the view of an OTP key", () => {
  it("names the users who have it, at most ten", async () => {
    const { body } = await auth.get("/core/otpkeys/stockab");
    expect(body).toMatchObject({ users: [user, other].map(({ id, name }) => ({ id, name })) });
    expect((await auth.get("/core/otpkeys/stockb")).body).not.toHaveProperty("users");
    for (let n = 0; n < 10; n++) {
      const { id } = await auth.makeUser();
      await auth.post(`/core/users/${id}/otpkeys`, { otpkey: "stockab" });
    }
    const many = (await auth.get("/core/otpkeys/stockab")).body as { users: readonly object[] };
    expect(many.users).toHaveLength(10);
  });
});
