import { describe, expect, it, test } from "vitest";
import type { AuthContext } from "../../../../functions/auth/context.ts";
import { apiTokensOf } from "../../../../functions/identify-caller.ts";
import { maxAssignedKeys } from "../../../../lib/auth/store.ts";
import { foldUsername } from "../../../../lib/auth/users/username.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { fillUser } from "../../../support/auth/fill-user.ts";
import { hotpKey, totpKey, yubicoKey } from "../../../support/auth/software-key.ts";
import { newName, testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const apiTokens = apiTokensOf(auth.deployment, "core");
// Before the first call: a host reads the tokens again for an unknown one once a minute.
const importToken = (await apiTokens.create("importer", { role: "import" })).token;

type Element = Readonly<Record<string, unknown>>;
const asImport = () => ({ authorization: `Bearer ${importToken}` });

const sendBatch = (otpkeys: unknown, headers: Readonly<Record<string, string>> = {}) =>
  auth.call("POST", "/core/otpkeys/batch", { headers, body: JSON.stringify({ otpkeys }) });

const importing = async (otpkeys: readonly unknown[], headers?: Readonly<Record<string, string>>) => {
  const { status, body } = await sendBatch(otpkeys, headers);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { results: readonly Element[] }).results;
};

const statusesOf = (results: readonly Element[]) => results.map(({ status }) => status);
const listed = async () => (await auth.get("/core/otpkeys")).body as readonly { id: number; prefix: string }[];
const keysOf = async (user: { id: number }) => (await auth.get(`/core/users/${user.id}/otpkeys`)).body;

describe("POST /core/otpkeys/batch", () => {
  it("imports 100 OTP keys of all kinds in the order of the list, and again with the status 200", async () => {
    const keys = Array.from({ length: 100 }, (_, n) => [hotpKey, totpKey, yubicoKey][n % 3]?.() ?? hotpKey());
    const elements = keys.map(({ fields }) => fields);
    const expected = (status: number) => keys.map(({ prefix }, index) => ({ index, prefix, status }));
    expect(await importing(elements)).toEqual(expected(201));
    expect(await importing(elements)).toEqual(expected(200));
    const own = new Set(keys.map(({ prefix }) => prefix));
    const inList = (await listed()).filter(({ prefix }) => own.has(prefix));
    expect(inList.map(({ prefix }) => prefix)).toEqual(keys.map(({ prefix }) => prefix).toSorted());
    expect(new Set(inList.map(({ id }) => id)).size).toBe(100);
  });

  it("creates no OTP key for a user who can have no more, neither in a list nor alone", async () => {
    const user = await auth.makeUser();
    await fillUser(auth, user, { free: 1 });
    const [fits, over, alone] = [hotpKey(), hotpKey(), hotpKey()];
    const toUser = ({ fields }: typeof fits) => ({ ...fields, username: user.name });
    const reason = `is that of a user who has ${maxAssignedKeys} otpkeys already`;
    const refused = { status: 400, problems: [{ field: "username", reason }] };
    expect(await importing([toUser(fits), toUser(over)])).toMatchObject([{ status: 201 }, refused]);
    expect(statusesOf(await importing([toUser(fits)]))).toEqual([200]);
    expect(await auth.post("/core/otpkeys", toUser(alone))).toMatchObject({
      status: 400,
      body: { error: `username ${reason}` },
    });
    for (const { prefix } of [over, alone]) expect((await auth.get(`/core/otpkeys/${prefix}`)).status).toBe(404);
  });

  it("reports every problem by index and field, and imports the other elements", async () => {
    const [good, taken] = [hotpKey(), hotpKey()];
    await auth.post("/core/otpkeys", taken.fields);
    const elements = [
      good.fields,
      { ...hotpKey().fields, secret: "xyz", digits: "many" },
      "no object",
      { kind: "hotp" },
      { ...hotpKey().fields, secret: "00", counter: -1 },
      { ...hotpKey().fields, username: newName() },
      { ...hotpKey({ prefix: taken.prefix }).fields },
      // The other elements, its values for the kind, and the time. The user is looked up when these are right.
      {
        ...hotpKey().fields,
        prefix: good.prefix.toUpperCase(),
        secret: "00",
        username: newName(),
        valid_from: "2027-01-02T00:00:00Z",
        valid_until: "2027-01-01T00:00:00Z",
      },
    ];
    const results = await importing(elements);
    expect(statusesOf(results)).toEqual([201, 400, 400, 400, 400, 400, 409, 400]);
    expect(results.map(({ index }) => index)).toEqual(elements.map((_, index) => index));
    expect(results[1]).toMatchObject({
      problems: [
        { field: "secret", reason: "must be in hex" },
        { field: "digits", reason: "must be a whole number" },
      ],
    });
    expect(results[2]).toMatchObject({
      error: "The input must be an object",
      problems: [{ field: "", reason: "must be an object" }],
    });
    expect(results[3]).toMatchObject({
      problems: [
        { field: "prefix", reason: "is required" },
        { field: "secret", reason: "is required" },
      ],
    });
    expect(results[4]).toMatchObject({ problems: [{ field: "secret" }, { field: "counter" }] });
    expect(results[5]).toMatchObject({ problems: [{ field: "username", reason: "is not the name of a user" }] });
    expect(results[6]).toEqual({
      index: 6,
      prefix: taken.prefix,
      status: 409,
      error: "The otpkey has another secret. Set `replace` to replace it.",
    });
    expect(results[7]).toMatchObject({
      problems: [
        { field: "prefix", reason: "is also that of the element 0" },
        { field: "secret" },
        { field: "valid_until", reason: "must be later than valid_from" },
      ],
    });
    const there = new Set((await listed()).map(({ prefix }) => prefix));
    const refused = [1, 4, 5].map(index => (elements[index] as Element).prefix as string);
    expect(refused.filter(prefix => there.has(prefix))).toEqual([]);
  });

  it("refuses an element with an object that has an object as length, and imports the other elements", async () => {
    const results = await importing([
      { ...hotpKey().fields, secret_base32: { length: { toString: 1 } } },
      hotpKey().fields,
    ]);
    expect(statusesOf(results)).toEqual([400, 201]);
    expect(auth.errors).toEqual([]);
  });

  it("changes nothing of an OTP key that it refuses: neither counter, validity nor user", async () => {
    const [owner, other] = [await auth.makeUser(), await auth.makeUser()];
    const key = hotpKey();
    await importing([{ ...key.fields, username: owner.name }]);
    const before = await auth.context.otpkeys.find(key.prefix);
    const otherSecret = hotpKey({ prefix: key.prefix }).fields;
    const elements = [
      { ...key.fields, counter: 9, username: other.name },
      { ...otherSecret, username: other.name },
      { ...key.fields, counter: 9, valid_until: "2099-01-01T00:00:00Z", username: other.name },
      { ...otherSecret, replace: true },
    ];
    for (const [index, status] of [403, 409, 403, 403].entries()) {
      expect(statusesOf(await importing([elements[index]], asImport())), String(index)).toEqual([status]);
      expect(await auth.context.otpkeys.find(key.prefix)).toEqual(before);
    }
    expect(await keysOf(other)).toEqual([]);
  });

  it("lets an administrator replace a secret, and assign an OTP key that another user has", async () => {
    const [owner, other] = [await auth.makeUser(), await auth.makeUser()];
    const key = hotpKey();
    await importing([{ ...key.fields, username: owner.name }]);
    const next = { ...hotpKey({ prefix: key.prefix }).fields, replace: true, username: other.name };
    const { result, calls } = await auth.counted(() => importing([next]));
    expect(statusesOf(result)).toEqual([200]);
    expect(await keysOf(other)).toEqual([key.prefix]);
    const of = (event: string) => auth.events(event).filter(({ prefix }) => prefix === key.prefix);
    expect(of("otpkey_secret_replaced")).toHaveLength(1);
    const folded = (user: { name: string }) => foldUsername(user.name);
    expect(of("otpkey_assigned")).toMatchObject([owner, other].map(user => ({ user: { folded: folded(user) } })));
    // It is written once, by the version that the assignment gave it.
    expect(calls.filter(call => call.startsWith("PUT") && call.includes("/otpkeys("))).toHaveLength(1);
  });

  it("writes the audit events of the single call, with the token of the caller", async () => {
    const [user, key] = [await auth.makeUser(), hotpKey()];
    const taken = { ...hotpKey({ prefix: key.prefix }).fields, replace: "true" };
    await importing([{ ...key.fields, username: user.name }], asImport());
    await importing([taken], asImport());
    const application = importToken.split("_")[1];
    const caller = { callerKind: "api_token", application };
    const of = (event: string) => auth.events(event).filter(({ prefix }) => prefix === key.prefix);
    expect(of("otpkey_imported")).toEqual([expect.objectContaining({ ...caller, kind: "hotp" })]);
    expect(of("otpkey_assigned")).toEqual([expect.objectContaining(caller)]);
    expect(of("otpkey_import_refused")).toEqual([expect.objectContaining({ ...caller, reason: "no_role" })]);
    expect(auth.lines.join("\n")).not.toContain(key.fields.secret);
  });

  it("assigns all OTP keys of one user, however many", async () => {
    const user = await auth.makeUser();
    const elements = Array.from({ length: 20 }, () => ({ ...hotpKey().fields, username: user.name }));
    expect(new Set(statusesOf(await importing(elements)))).toEqual(new Set([201]));
    expect(await keysOf(user)).toHaveLength(20);
  });

  it("reports an OTP key whose row cannot be read as failed, and imports the others", async () => {
    const [broken, good] = [hotpKey(), hotpKey()];
    const row = { partitionKey: broken.prefix, rowKey: "key", schema: 1, id: 1, parameters: "{" };
    await auth.deployment.tables.table("otpkeys").insert(row);
    const results = await importing([broken.fields, good.fields]);
    expect(results).toEqual([
      { index: 0, prefix: broken.prefix, status: 500, error: "Internal error." },
      { index: 1, prefix: good.prefix, status: 201 },
    ]);
    expect(auth.events("failed").at(-1)).toMatchObject({ error: { name: "RowError" } });
  });
});

describe("an outage during POST /core/otpkeys/batch", () => {
  const away = () => Promise.reject(new Fault("unavailable", "Storage is away."));

  it("of storage is answered 503 without trying the other OTP keys, and a repeated call completes it", async () => {
    const user = await auth.makeUser();
    const elements = Array.from({ length: 20 }, () => ({ ...hotpKey().fields, username: user.name }));
    let attempts = 0;
    const ports = ({ otpkeys }: AuthContext) => ({
      otpkeys: {
        ...otpkeys,
        assign: () => {
          attempts++;
          return away();
        },
      },
    });
    const host = auth.anotherInstance({ ports });
    const body = JSON.stringify({ otpkeys: elements });
    expect((await host.call("POST", "/core/otpkeys/batch", { body })).status).toBe(503);
    expect(attempts).toBe(1);
    expect(statusesOf(await importing(elements)).sort()).toEqual([200, ...Array(19).fill(201)]);
    expect(await keysOf(user)).toHaveLength(20);
  });

  it("of the vault is answered 503, and imports nothing", async () => {
    const { prefix, fields } = hotpKey();
    const ports = ({ sealer }: AuthContext) => ({ sealer: { ...sealer, seal: away } });
    const body = JSON.stringify({ otpkeys: [fields] });
    expect((await auth.anotherInstance({ ports }).call("POST", "/core/otpkeys/batch", { body })).status).toBe(503);
    expect((await auth.get(`/core/otpkeys/${prefix}`)).status).toBe(404);
  });
});

describe("the list of POST /core/otpkeys/batch", () => {
  test.each([
    ["is missing", undefined, "Missing required parameter(s)! otpkeys"],
    ["is no list", { prefix: "x" }, "otpkeys must be a list"],
    ["is empty", [], "otpkeys must have at least 1 element"],
    ["has 101 elements", Array.from({ length: 101 }, () => hotpKey().fields), "otpkeys must have at most 100 elements"],
    ["has 9,000 elements", Array.from({ length: 9000 }, () => 0), "otpkeys must have at most 100 elements"],
  ])("is refused if it %s: 400, and nothing is imported", async (_, otpkeys, error) => {
    const before = (await listed()).length;
    const { status, body } = await sendBatch(otpkeys);
    expect({ status, body }).toEqual({ status: 400, body: { error } });
    expect((await listed()).length).toBe(before);
  });
});

describe("storage calls of POST /core/otpkeys/batch", () => {
  const callsOf = async (elements: readonly unknown[]) => {
    const { result, total, sequential } = await auth.counted(() => importing(elements));
    return { statuses: new Set(statusesOf(result)), total, sequential };
  };

  it.each([1, 10, 100])("are n for n = %d new OTP keys, and 2n for known ones", async n => {
    const elements = Array.from({ length: n }, () => hotpKey().fields);
    const created = await callsOf(elements);
    expect(created).toMatchObject({ statuses: new Set([201]), total: n });
    // A refused insert, and the read of the OTP key that is there. Nothing changes, so nothing is written.
    expect(await callsOf(elements)).toMatchObject({ statuses: new Set([200]), total: 2 * n });
  });

  it("are one after another for no new OTP key, and nine for one that is assigned", async () => {
    const user = await auth.makeUser();
    const elements = Array.from({ length: 5 }, () => hotpKey().fields);
    expect((await callsOf(elements)).sequential).toBe(1);
    // Name and user, the OTP key; of the assignment: name, user, OTP key and notice, the OTP key with its holder, the user.
    const assigned = elements.map(() => ({ ...hotpKey().fields, username: user.name }));
    expect((await callsOf(assigned)).total).toBe((2 + 1 + 6) * 5);
  });
});

describe("a batch at the same time as other calls", () => {
  it("that deletes an OTP key ends with the key as imported and assigned, or without it", async () => {
    const user = await auth.makeUser();
    for (let round = 0; round < 5; round++) {
      const key = hotpKey();
      await importing([key.fields]);
      const [results] = await Promise.all([
        importing([{ ...key.fields, username: user.name }]),
        auth.post(`/core/otpkeys/${key.prefix}/delete`),
      ]);
      const stored = await auth.context.otpkeys.find(key.prefix);
      expect([200, 201]).toContain(results[0]?.status);
      expect([undefined, "hotp"]).toContain(stored?.value.kind);
      const assigned = (await keysOf(user)) as readonly string[];
      expect(assigned.includes(key.prefix) && stored === undefined).toBe(false);
    }
  });
});
