import { describe, expect, it } from "vitest";
import { core } from "../../../../functions/auth/routes.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { fieldsOf } from "../../../support/auth/core-bodies.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { newName, newPassword, type Sent, testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [user, key] = await auth.makeOwner(hotpKey());
const { prefix } = key;
const later = plus(auth.now(), days(1));
await auth.post(`/core/otpkeys/${prefix}/validity`, { valid_until: later });

const multipart = (fields: Readonly<Record<string, string>>) => {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--cut\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    headers: { "content-type": "multipart/form-data; boundary=cut" },
    body: `${parts.join("")}--cut--\r\n`,
  };
};

/** The ways to send fields in the body of a POST, with their names. */
const waysToSend: readonly (readonly [string, (fields: Record<string, string>) => Sent])[] = [
  ["a form", fields => ({ fields })],
  [
    "a form that names its charset",
    fields => ({
      headers: { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" },
      body: new URLSearchParams(fields).toString(),
    }),
  ],
  ["a multipart form", multipart],
  ["a JSON object", fields => ({ body: JSON.stringify(fields) })],
];

const templatesOf = (method: string) =>
  Object.values(core.endpoints)
    .flatMap(({ routes }) => routes)
    .filter(route => route.startsWith(method) && !route.endsWith("/batch"))
    .map(route => route.replace(`${method} `, ""));
const posts = templatesOf("POST");
const deletes = templatesOf("DELETE");
const pathOf = (template: string) =>
  `/core${template.replace("{user}", String(user.id)).replace("{prefix}", prefix).replace("{key}", "team")}`;

const stored = async () =>
  Promise.all(
    ["users", `users/${user.id}`, `users/${user.id}/attributes`, `otpkeys/${prefix}`, "otpkeys", "api-tokens"].map(
      async path => (await auth.get(`/core/${path}`)).body,
    ),
  );
const problemOf = (name: string) => ({ status: 400, body: { error: `${name} is not a known field` } });

describe("an unknown field of a Core request", () => {
  it.each(posts)("is refused and named by POST %s before anything is written, in body and query", async template => {
    const fields = fieldsOf(template, { prefix, later });
    const before = await stored();
    for (const [way, send] of waysToSend)
      expect([way, await auth.call("POST", pathOf(template), send({ ...fields, no_such: "1" }))]).toMatchObject([
        way,
        problemOf("no_such"),
      ]);
    const query = `${pathOf(template)}?${new URLSearchParams({ no_such: "1" })}`;
    expect(await auth.post(query, fields)).toMatchObject(problemOf("no_such"));
    expect(await stored()).toEqual(before);
  });

  it("is refused and named where it is a file of a multipart form, and so is a file in the place of a text", async () => {
    const before = await stored();
    const part = (name: string) =>
      `--cut\r\ncontent-disposition: form-data; name="${name}"; filename="f"\r\n\r\n${later}\r\n`;
    const headers = { "content-type": "multipart/form-data; boundary=cut" };
    const body = `${part("valid_until")}${part("no_such")}--cut--\r\n`;
    expect(await auth.call("POST", `/core/otpkeys/${prefix}/validity`, { headers, body })).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^valid_until must .*; no_such is not a known field$/) },
    });
    expect(await stored()).toEqual(before);
  });

  it("is refused and named in the query of a DELETE", async () => {
    const { status, body } = await auth.call("DELETE", `/core/users/${user.id}?dry_run=true`);
    expect({ status, body }).toEqual(problemOf("dry_run"));
    expect((await auth.get(`/core/users/${user.id}`)).status).toBe(200);
  });

  it.each(deletes)("is refused and named by DELETE %s before anything is deleted, in the body", async template => {
    const before = await stored();
    for (const [way, send] of waysToSend)
      expect([way, await auth.call("DELETE", pathOf(template), send({ no_such: "1" }))]).toMatchObject([
        way,
        problemOf("no_such"),
      ]);
    expect(await stored()).toEqual(before);
  });

  it.each(["application/json", "multipart/form-data; boundary=cut", "text/plain"])(
    "is not in an empty body of a DELETE of the type %s",
    async type => {
      const { id } = await auth.makeUser({ password: newPassword() });
      const headers = { "content-type": type };
      expect((await auth.call("DELETE", `/core/users/${id}`, { headers, body: "" })).status).toBe(204);
    },
  );

  it.each([
    ["the end of a validity", `otpkeys/${prefix}/validity`, { valid_from: auth.now(), valid_untill: later }],
    ["the end of sessions", `otpkeys/${prefix}/disable`, { end_session: "true" }],
    ["a change of the password", `users/${user.id}/reset`, { password: newPassword(), mustchange: "true" }],
  ])("misspells %s: nothing is written", async (_, path, fields) => {
    const before = await stored();
    const misspelt = Object.keys(fields).at(-1) ?? "";
    expect(await auth.post(`/core/${path}`, fields)).toMatchObject(problemOf(misspelt));
    expect(await stored()).toEqual(before);
  });

  it("is named with every other wrong field", async () => {
    const response = await auth.post("/core/users", { username: "", passwort: "x", must_change: "maybe", a: "" });
    expect(response).toMatchObject({
      status: 400,
      body: {
        error:
          "Missing required parameter(s)! password; username must not be empty; must_change must be true or false; " +
          "passwort is not a known field; a is not a known field",
      },
    });
  });

  it("is named with at most 19 others", async () => {
    const names = Array.from({ length: 32 }, (_, index) => `${index}-`.padEnd(100, "x"));
    const { body } = await auth.post(
      `/core/users/${user.id}/unlock`,
      Object.fromEntries(names.map(name => [name, ""])),
    );
    const named = names.slice(0, 20).map(name => `${name} is not a known field`);
    expect(body).toEqual({ error: named.join("; ") });
  });

  it("is not shown where it is a whole body with secrets", async () => {
    const secret = "correct horse battery";
    const json = JSON.stringify({ username: newName(), password: secret });
    const asForm = { "content-type": "application/x-www-form-urlencoded" };
    const sent = await auth.call("POST", "/core/users", { headers: asForm, body: json });
    expect(sent).toMatchObject({ status: 415, body: { error: "Send JSON as application/json." } });
    const others = await Promise.all([
      auth.call("POST", "/core/users", { headers: asForm, body: encodeURIComponent(json) }),
      auth.call("POST", "/core/users", multipart({ [secret]: "" })),
      auth.call("POST", "/core/users", { body: JSON.stringify({ [json]: "" }) }),
      auth.call("POST", `/core/users?${encodeURIComponent(json)}`),
      auth.call("GET", `/core/otpkeys?${encodeURIComponent(json)}`),
      auth.call("GET", `/core/otpkeys?${encodeURIComponent(secret)}=1&${encodeURIComponent(secret)}=2`),
    ]);
    for (const { status, body } of others) {
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining("(name not shown)") },
      });
      expect(JSON.stringify(body)).not.toContain("horse");
    }
  });

  it("refuses the element of a batch, by name, and no other element", async () => {
    const [one, other] = [newName(), newName()];
    const users = [
      { username: one, password: newPassword(), otpkey: [prefix], attribute: { team: "red" } },
      { username: other, password: newPassword(), otpkeys: [prefix], attributes: { no_such: "field" } },
    ];
    const { body } = await auth.call("POST", "/core/users/batch", { body: JSON.stringify({ users }) });
    const problems = ["otpkey", "attribute"].map(field => ({ field, reason: "is not a known field" }));
    expect(body).toMatchObject({
      results: [
        { username: one, status: 400, problems },
        { username: other, status: 201 },
      ],
    });
    expect((await auth.get(`/core/users/${one}`)).status).toBe(404);

    const [key, good] = [hotpKey(), hotpKey()];
    const otpkeys = [{ ...key.fields, user: other }, good.fields];
    const imported = await auth.call("POST", "/core/otpkeys/batch", { body: JSON.stringify({ otpkeys }) });
    expect(imported.body).toMatchObject({
      results: [{ status: 400, problems: [{ field: "user", reason: "is not a known field" }] }, { status: 201 }],
    });
    expect((await auth.get(`/core/otpkeys/${key.prefix}`)).status).toBe(404);
  });

  it("refuses a whole batch beside its list", async () => {
    const users = [{ username: newName(), password: newPassword() }];
    const { status, body } = await auth.call("POST", "/core/users/batch", {
      body: JSON.stringify({ users, dry_run: true }),
    });
    expect({ status, body }).toEqual(problemOf("dry_run"));
    expect((await auth.get(`/core/users/${users[0]?.username}`)).status).toBe(404);
  });

  it("is ignored by the Client API: forms of browsers send more", async () => {
    const fields = { ...user.credentials, otp: key.otp(0), remember: "me" };
    expect((await auth.post("/client/authenticate?$top=x&constructor=y", fields)).body).toBe(true);
  });
});
