import { describe, expect, it, test } from "vitest";
import { days, minutes } from "../../../../lib/platform/time.ts";
import made from "../../../support/auth/imported-hashes.json" with { type: "json" };
import { hotpKey } from "../../../support/auth/software-key.ts";
import {
  newName,
  newPassword,
  replacing,
  type TestAuth,
  testAuth,
  throttleOf,
} from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [[password, hash] = ["", ""]] = made as [string, string][];
const bcrypt = (made as [string, string][]).find(([, each]) => each.startsWith("$2b$"))?.[1] ?? "";
const argon2id = "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc";

type Element = Readonly<Record<string, unknown>>;

const send = (users: unknown, on: TestAuth = auth) =>
  on.call("POST", "/core/users/batch", { body: JSON.stringify({ users }) });

async function importing(users: readonly unknown[], on: TestAuth = auth) {
  const { status, body } = await send(users, on);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { results: readonly Element[] }).results;
}

const statusesOf = (results: readonly Element[]) => results.map(({ status }) => status);
const view = async (name: unknown) => (await auth.get(`/core/users/${name}`)).body as Element;
const logIn = (username: string, given: string, on: TestAuth = auth, otp?: string) =>
  on.post("/client/login", { username, password: given, ...(otp !== undefined && { otp }) });
const newKey = async () => {
  const key = hotpKey();
  await auth.post("/core/otpkeys", key.fields);
  return key;
};

describe("POST /core/users/batch", () => {
  it("creates users with all that they had, in the order of the list, and changes nothing when it is repeated", async () => {
    const [one, two] = [await newKey(), await newKey()];
    const users = [
      { username: newName(), password: newPassword(), attributes: { team: "red", mail: "a@example.com" } },
      { username: newName(), password_hash: hash, otpkeys: [two.prefix, one.prefix], enabled: false },
      { username: newName(), password: "" },
    ];
    const first = await importing(users);
    expect(first).toEqual(
      users.map(({ username }, index) => ({ index, username, id: expect.any(Number), status: 201 })),
    );
    const views = await Promise.all(users.map(({ username }) => view(username)));
    expect(views).toEqual([
      { id: first[0]?.id, name: users[0]?.username, attributes: users[0]?.attributes, otpkeys: [], enabled: true },
      {
        id: first[1]?.id,
        name: users[1]?.username,
        attributes: {},
        otpkeys: [one.prefix, two.prefix].sort(),
        enabled: false,
        password: { imported: "sha256-crypt" },
      },
      { id: first[2]?.id, name: users[2]?.username, attributes: {}, otpkeys: [], enabled: true },
    ]);
    expect((await auth.get("/core/users", { team: "red" })).body).toEqual([
      { id: first[0]?.id, name: users[0]?.username },
    ]);
    expect((await auth.get("/core/users", { otpkey: one.prefix })).body).toEqual([
      { id: first[1]?.id, name: users[1]?.username },
    ]);
    const { result: again, calls } = await auth.counted(() => importing(users));
    expect(again).toEqual(first.map(each => ({ ...each, status: 200 })));
    expect(calls.filter(call => !call.startsWith("GET"))).toEqual([]);
    expect(await Promise.all(users.map(({ username }) => view(username)))).toEqual(views);
    expect((await logIn(users[0]?.username ?? "", users[0]?.password ?? "")).status).toBe(200);
  });

  it("takes 100 users and not more", async () => {
    const users = Array.from({ length: 100 }, () => ({ username: newName(), password_hash: hash }));
    expect(new Set(statusesOf(await importing(users)))).toEqual(new Set([201]));
    const { status, body } = await send([...users, { username: newName(), password: "" }]);
    expect([status, body]).toEqual([400, { error: expect.stringContaining("users") }]);
    expect((await send([])).status).toBe(400);
  });

  it("reports every problem of an element by its field, and imports the others", async () => {
    const [good, twice] = [newName(), newName()];
    const imported = { password_hash: hash };
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`key${n}`, ""]));
    const wrong = ["attributes.bad key", "attributes.number", "enabled", "otpkeys[0]", "password", "username"];
    const cases: readonly (readonly [element: unknown, ...fields: string[]])[] = [
      [{ ...imported, username: good }],
      [{ username: "a/b", attributes: { "bad key": "x", number: 1 }, otpkeys: ["!"], enabled: "perhaps" }, ...wrong],
      ["no object", ""],
      [{ ...imported, password: newPassword() }, "password_hash"],
      [{ password_hash: "$1$old$hash" }, "password_hash"],
      [{ password_hash: "$2b$14$abcdefghijklmnopqrstuuUJf9qAIqFFWObw4K4AvdtuO.PaE5J/W" }, "password_hash"],
      [{ password: "password" }, "password"],
      [{ ...imported, username: twice }],
      [{ username: twice.toUpperCase(), password: "a good one", enabled: "perhaps" }, "enabled", "username"],
      [{ ...imported, otpkeys: ["same", "SAME"] }, "otpkeys"],
      [{ ...imported, attributes: ["x"] }, "attributes"],
      [{ ...imported, attributes: many }, "attributes"],
      // The rules of passwords are checked when all fields can be read.
      [{ password: "password", enabled: "perhaps" }, "enabled"],
    ];
    const elements = cases.map(([element]) =>
      typeof element === "object" ? { username: newName(), ...element } : element,
    );
    const results = await importing(elements);
    const fieldsOf = ({ problems = [] }: Element) => (problems as Element[]).map(({ field }) => field).sort();
    expect(results.map(result => [result.status, ...fieldsOf(result)])).toEqual(
      cases.map(([, ...fields]) => [fields.length > 0 ? 400 : 201, ...fields]),
    );
    const reasonOf = (index: number) => results[index]?.problems;
    expect(reasonOf(5)).toMatchObject([{ reason: "costs too much for a sign-in: at most cost 13" }]);
    expect(reasonOf(8)).toContainEqual({ field: "username", reason: "is also that of the element 7" });
    // Of all attributes together, before they are added one by one.
    expect(reasonOf(11)).toMatchObject([{ reason: "must have at most 200 attributes" }]);
    // Named as far as the name can be read.
    expect(results.map(({ username }) => username).slice(0, 3)).toEqual([good, undefined, undefined]);
    expect(results[8]?.username).toBe(twice.toUpperCase());
    expect(JSON.stringify(results)).not.toContain(hash);
  });

  it("names each wrong attribute by its key, cut to the longest key, and quotes no value", async () => {
    const [value, longest] = ["a secret value", "k".repeat(128)];
    const attributes = { "": value, "..": value, "a b": value, [`${longest}k`]: value, fine: value, number: 1 };
    const [result] = await importing([{ username: newName(), password_hash: hash, attributes }]);
    expect(result?.problems).toEqual([
      { field: "attributes.", reason: "is not an attribute: its key must not be empty" },
      { field: "attributes...", reason: "is not an attribute: its key must not be . or .., which a URL cannot carry" },
      {
        field: "attributes.a b",
        reason: "is not an attribute: its key must have ASCII letters, digits and - _ . : @ only",
      },
      { field: `attributes.${longest}`, reason: "is not an attribute: its key must have at most 128 characters" },
      { field: "attributes.number", reason: "must be a text" },
    ]);
    expect(JSON.stringify(result)).not.toContain(value);
  });

  it("leaves nothing of a user who is refused", async () => {
    const name = newName();
    expect(await importing([{ username: name, password_hash: hash, otpkeys: ["nosuchkey"] }])).toMatchObject([
      { status: 400, username: name, problems: [{ field: "otpkeys" }] },
    ]);
    expect((await auth.get(`/core/users/${name}`)).status).toBe(404);
    expect(statusesOf(await importing([{ username: name, password_hash: hash }]))).toEqual([201]);
  });

  it("refuses another user of an existing name with every field that differs, and does not change that one", async () => {
    const key = await newKey();
    const username = newName();
    const user = { username, password_hash: hash, attributes: { team: "blue" } };
    await importing([user]);
    const there = await view(username);
    const [result] = await importing([
      {
        username: username.toUpperCase(),
        password_hash: bcrypt,
        attributes: { team: "green" },
        otpkeys: [key.prefix],
        enabled: false,
      },
    ]);
    const reason = "differs from that of the existing user";
    expect(result).toMatchObject({
      status: 409,
      problems: ["password", "attributes.team", "otpkeys", "enabled"].map(field => ({ field, reason })),
    });
    expect(result).not.toHaveProperty("id");
    expect(await view(username)).toEqual(there);
    const [clear] = await importing([{ ...user, password_hash: undefined, password }]);
    expect(clear).toMatchObject({ status: 200 });
    const [other] = await importing([{ ...user, password_hash: undefined, password: newPassword() }]);
    expect(other).toMatchObject({ status: 409, problems: [{ field: "password", reason }] });
    expect(await importing([{ username: (await auth.makeUser()).name, password_hash: hash }])).toMatchObject([
      { status: 200 },
    ]);
  });

  it("recognises a user who has signed in, got more attributes and another password since", async () => {
    const username = newName();
    const user = { username, password_hash: hash, attributes: { team: "blue" } };
    const [created] = await importing([user]);
    const { session } = (await logIn(username, password)).body as { session: string };
    await auth.post(`/core/users/${username}/attributes`, { key: "since", value: "then" });
    expect(await importing([user])).toEqual([{ ...created, status: 200 }]);
    const changed = newPassword();
    const headers = { "x-service-session": session };
    expect((await auth.post("/client/password", { newpass: changed, oldpass: password }, headers)).status).toBe(200);
    expect(await importing([user])).toEqual([{ ...created, status: 200 }]);
    expect((await logIn(username, changed)).status).toBe(200);
  });

  it("writes an audit event for each user and each assignment, without a secret", async () => {
    const key = await newKey();
    const username = newName();
    const [created] = await importing([{ username, password_hash: argon2id, otpkeys: [key.prefix] }]);
    expect(auth.events("user_created").at(-1)).toMatchObject({ userId: created?.id, username, scheme: "argon2id" });
    expect(auth.events("otpkey_assigned").at(-1)).toMatchObject({ prefix: key.prefix, user: { id: created?.id } });
    expect(auth.lines.join("\n")).not.toContain("bQk8UB");
  });

  it("is 503 as a whole if the queue of hashes is full, and is completed by a repetition", async () => {
    let left = 3;
    const full = auth.anotherInstance({
      ports: replacing("hasher", real => ({
        hashImported: (...given) => (left-- > 0 ? real.hashImported(...given) : Promise.reject(overloaded)),
      })),
    });
    const users = Array.from({ length: 20 }, () => ({ username: newName(), password_hash: hash }));
    const { OverloadFault } = await import("../../../../lib/auth/passwords/hash-queue.ts");
    const overloaded = new OverloadFault(3);
    const refused = await send(users, full);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "3"]);
    const statuses = statusesOf(await importing(users));
    expect(statuses.filter(status => status === 200)).toHaveLength(3);
    expect(statuses.filter(status => status === 201)).toHaveLength(17);
  });
});

describe("the first sign-in with an imported hash", () => {
  it.each([hash, bcrypt])(
    "replaces it by argon2id with the pepper, so that the next one is as any other (%#)",
    async given => {
      const username = newName();
      await importing([{ username, password_hash: given }]);
      const stored = async () => (await auth.context.users.find({ by: "name", folded: username }))?.value.password;
      expect((await logIn(username, "wrong")).status).toBe(401);
      expect(await stored()).toHaveProperty("imported");
      expect((await logIn(username, password)).status).toBe(200);
      expect(await stored()).not.toHaveProperty("imported");
      expect(await view(username)).not.toHaveProperty("password");
      expect((await logIn(username, password)).status).toBe(200);
      expect((await logIn(username, "wrong")).status).toBe(401);
      expect(auth.events("imported_password_renewed").at(-1)).toMatchObject({
        scheme: given === hash ? "sha256-crypt" : "bcrypt",
      });
    },
  );

  it("needs the OTP of an imported user, and renews the hash then", async () => {
    const key = await newKey();
    const username = newName();
    await importing([{ username, password_hash: hash, otpkeys: [key.prefix] }]);
    expect((await logIn(username, password)).status).toBe(401);
    expect(await view(username)).toHaveProperty("password");
    expect((await logIn(username, password, auth, key.otp(0))).status).toBe(200);
    expect(await view(username)).not.toHaveProperty("password");
  });

  it("on several hosts at once is granted by each, and one of them renews the hash", async () => {
    const username = newName();
    await importing([{ username, password_hash: hash }]);
    const hosts = [auth, auth.anotherInstance(), auth.anotherInstance()];
    const answers = await Promise.all(hosts.map(host => logIn(username, password, host)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const renewed = hosts.flatMap(host => host.events("imported_password_renewed"));
    const { id } = await view(username);
    expect(new Set(renewed.filter(({ userId }) => userId === id).map(event => JSON.stringify(event))).size).toBe(1);
    expect((await logIn(username, password)).status).toBe(200);
  });
});

describe("imports of one user on two hosts at once", () => {
  it("create one user, and both calls succeed", async () => {
    const key = await newKey();
    const users = Array.from({ length: 12 }, () => ({
      username: newName(),
      password_hash: hash,
      attributes: { team: "both" },
      otpkeys: [key.prefix],
    }));
    const answers = await Promise.all([importing(users), importing(users, auth.anotherInstance())]);
    for (const [index] of users.entries()) {
      const [one, other] = answers.map(results => results[index]);
      expect([one?.status, other?.status].sort()).toEqual([200, 201]);
      expect(one?.id).toBe(other?.id);
    }
    const found = (await auth.get("/core/users", { team: "both" })).body as readonly Element[];
    expect(found.map(({ name }) => name).sort()).toEqual(users.map(({ username }) => username).sort());
  });
});

describe("users whose password hash is still the imported one", () => {
  it("are listed alone, or with other filters, until they sign in", async () => {
    const [one, two] = [newName(), newName()];
    await importing([one, two].map(username => ({ username, password_hash: hash, attributes: { wave: "first" } })));
    const names = async (fields: Readonly<Record<string, string>>) =>
      ((await auth.get("/core/users", fields)).body as readonly Element[]).map(({ name }) => name);
    const imported = { $password: "imported" };
    expect(await names(imported)).toEqual(expect.arrayContaining([one, two]));
    expect((await names({ ...imported, wave: "first" })).sort()).toEqual([one, two].sort());
    await logIn(one, password);
    expect(await names(imported)).not.toContain(one);
    expect(await names({ ...imported, wave: "first" })).toEqual([two]);
    expect(await names({ ...imported, $prefix: two })).toEqual([two]);
    expect(await names({ ...imported, $prefix: one })).toEqual([]);
    expect((await auth.get("/core/users", { $password: "other" })).status).toBe(400);
  });
});

test("from the day IMPORTED_HASHES_UNTIL on an imported password is refused as a wrong one, and administrators see why", async () => {
  const username = newName();
  await importing([{ username, password_hash: hash }]);
  const until = new Date(Date.parse(auth.now()) + days(2)).toISOString().slice(0, 10);
  const ending = auth.anotherInstance({ settings: { IMPORTED_HASHES_UNTIL: until } });
  ending.advance(days(2) + minutes(1));
  const refused = await logIn(username, password, ending);
  const wrong = await logIn(username, "wrong", ending);
  expect([refused.status, refused.body]).toEqual([wrong.status, wrong.body]);
  const { body } = await ending.get(`/core/users/${username}`);
  expect(body).toMatchObject({ last_refusal: { reason: "imported_password_ended" } });
  expect((await throttleOf(ending, body as { id: number; name: string })).value.failures).toBe(2);
  expect(ending.events("authentication").at(-1)).toMatchObject({ reason: "imported_password_ended" });
  const validated = await ending.post(`/core/users/${username}/validate`, { password });
  expect(validated.body).toMatchObject({ valid_password: false });
});
