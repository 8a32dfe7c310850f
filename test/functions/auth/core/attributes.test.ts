import { describe, expect, it, test } from "vitest";
import { testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [user, other] = await Promise.all([auth.makeUser(), auth.makeUser()]);
for (const prefix of ["key1", "key2", "key3", "key4", "key5", "key6"]) {
  await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: prefix });
}

/** Each base has a key of its own, so that what one leaves another does not see. */
const bases: readonly (readonly [string, () => string])[] = [
  ["users/<id>/attributes", () => `/core/users/${user.id}/attributes`],
  ["users/<username>/attributes", () => `/core/users/${other.name}/attributes`],
  ["otpkeys/<prefix>/attributes", () => "/core/otpkeys/key1/attributes"],
  ["users/<id>/otpkeys/<prefix>/attributes", () => `/core/users/${user.id}/otpkeys/key2/attributes`],
  ["users/<username>/otpkeys/<prefix>/attributes", () => `/core/users/${user.name}/otpkeys/key3/attributes`],
  ["user/<id>/otpkeys/<prefix>/attributes", () => `/core/user/${user.id}/otpkeys/KEY4/attributes`],
];

describe.each(bases)("%s (specification section 4)", (_, base) => {
  it("has an object of all attributes, set by POST, overwritten by POST, read one by one as a JSON string or null", async () => {
    expect(await auth.get(base())).toMatchObject({ status: 200, body: {} });
    expect(await auth.get(`${base()}/color`)).toMatchObject({ status: 200, body: null });
    expect(await auth.post(base(), { key: "color", value: "red" })).toMatchObject({ status: 204, body: undefined });
    expect(await auth.get(`${base()}/color`)).toMatchObject({ status: 200, body: "red" });
    expect((await auth.post(base(), { key: "color", value: "" })).status).toBe(204);
    expect(await auth.get(`${base()}/color`)).toMatchObject({ status: 200, body: "" });
    await auth.post(base(), { key: "size", value: "12" });
    expect((await auth.get(base())).body).toEqual({ color: "", size: "12" });
  });

  test.each([
    ["DELETE", ""],
    ["POST", "/delete"],
  ] as const)("deletes by %s …%s: 204, also what is not there", async (method, rest) => {
    await auth.post(base(), { key: "gone", value: "x" });
    for (let time = 0; time < 2; time++) {
      expect(await auth.call(method, `${base()}/gone${rest}`)).toMatchObject({ status: 204, body: undefined });
      expect((await auth.get(`${base()}/gone`)).body).toBe(null);
    }
  });
});

describe("attributes through user and key", () => {
  it("are the key's own for every user", async () => {
    await auth.post(`/core/users/${user.id}/otpkeys/key5/attributes`, { key: "serial", value: "4711" });
    expect((await auth.get("/core/otpkeys/key5/attributes/serial")).body).toBe("4711");
    expect((await auth.get("/core/otpkeys/key5")).body).toMatchObject({ attributes: { serial: "4711" } });
    expect((await auth.get(`/core/user/${user.name}/otpkeys/key5`)).body).toMatchObject({
      attributes: { serial: "4711" },
    });
    await auth.call("DELETE", "/core/otpkeys/key5/attributes/serial");
    expect((await auth.get(`/core/users/${user.id}/otpkeys/key5/attributes`)).body).toEqual({});
  });
});

describe("the rules of attributes", () => {
  const base = () => `/core/users/${user.id}/attributes`;

  it("an owner has at most 262,144 code units, keys counted", async () => {
    const { id } = await auth.makeUser();
    const path = `/core/users/${id}/attributes`;
    const value = "x".repeat(32_767);
    for (let n = 0; n < 8; n++) expect((await auth.post(path, { key: String(n), value })).status).toBe(204);
    const { status, body } = await auth.post(path, { key: "9", value: "" });
    expect(status).toBe(400);
    expect(body).toEqual({ error: expect.stringMatching(/^value would exceed the limit of 262144 characters/) });
    expect((await auth.post(path, { key: "0", value: `${value.slice(1)}yy` })).status).toBe(400);
    expect((await auth.post(path, { key: "0", value: "" })).status).toBe(204);
  });

  test.each([
    [{}, "Missing required parameter(s)! key, value"],
    [{ key: ".", value: "x".repeat(32_769) }, /^key must not be \. .*; value must have at most 32768 characters$/],
  ])("%j is answered with 400 and every wrong field", async (fields, sentence) => {
    const { status, body } = await auth.post(base(), fields as Record<string, string>);
    expect(status).toBe(400);
    const { error } = body as { error: string };
    if (typeof sentence === "string") expect(error).toBe(sentence);
    else expect(error).toMatch(sentence);
  });
});
