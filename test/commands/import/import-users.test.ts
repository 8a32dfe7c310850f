import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runImport } from "../../../commands/import/run-import.ts";
import { userImport } from "../../../commands/import/user-import.ts";
import { bytesOf, type ImportUser } from "../../../commands/import/users/imported-user.ts";
import { refuseHugeJson } from "../../../lib/platform/http/read-body.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import made from "../../support/auth/imported-hashes.json" with { type: "json" };
import { hotpKey } from "../../support/auth/software-key.ts";
import { startCoreProxy } from "../core-proxy.ts";
import { fileOf, freshPath, readLines, runKind, startImport } from "./run-import.ts";

const auth = await startAuthHost();
const proxy = await startCoreProxy(auth.coreUrl);
const hashes = made as [string, string][];
const [[password, hash] = ["", ""]] = hashes;
const [, unicode = ""] = hashes.find(([, each]) => each.startsWith("pbkdf2_sha256$")) ?? [];

let names = 0;
const newName = () => `moved-${++names}`;

const run = (args: readonly string[], url = auth.coreUrl) =>
  runKind(userImport, ["--url", url, ...args], { API_TOKEN: auth.token });
const through = (...args: readonly string[]) => run(args, `${proxy.url}/core`);
const view = async (name: string) => (await auth.core("GET", `/users/${name}`)).body;
const newKey = async () => {
  const key = hotpKey();
  await auth.core("POST", "/otpkeys", key.fields);
  return key;
};
const logIn = async (fields: Readonly<Record<string, string>>) =>
  (await fetch(`${auth.clientUrl}/login`, { method: "POST", body: new URLSearchParams(fields) })).status;
const isRight = async (name: string, given: string) =>
  ((await auth.core("POST", `/users/${name}/validate`, { password: given })).body as { valid_password: boolean })
    .valid_password;

describe("importing users from a file", () => {
  it("reads CSV with columns of other names, reports each line, and prints no secret", async () => {
    const key = await newKey();
    const [one, two, three] = [newName(), newName(), newName()];
    const file = fileOf(
      [
        "uid;crypt;mail;keys;active;shoe size",
        `${one};${hash};one@example.com;${key.prefix};true;42`,
        `${two};$1$old$5ec2e7;;;true;`,
        "",
        `${three};${unicode};"a ""quoted""; text";;0;`,
        `${one.toUpperCase()};${hash};;;;`,
        `${newName()};${hash};;nosuchkey;maybe;`,
        `a/b;${hash};;no key!;true;`,
      ].join("\r\n"),
      "users.csv",
    );
    const report = freshPath("report.csv");
    const maps = ["username=uid", "password_hash=crypt", "attributes.mail=mail", "otpkeys=keys", "enabled=active"];
    const args = [...maps.flatMap(map => ["--map", map]), "--report", report, file];
    const { code, out, error } = await run(args);
    expect(out.split("\n")).toEqual([
      `${file}:3: refused: its password_hash must begin with $argon2id$, $2a$, $2b$, $2y$, $5$, $6$, $pbkdf2-sha256$, ` +
        "$pbkdf2-sha512$ or pbkdf2_sha256$",
      `${file}:6: refused: ${file}:2 has the same username, and the first one counts`,
      `${file}:7: refused: its enabled must be true or false`,
      `${file}:8: refused: its username must not contain / \\ ? or #; its otpkey key! is no prefix`,
      "6 users: 2 imported, 4 refused",
      "",
    ]);
    expect(error).toContain(`${file}: not read: shoe size\n`);
    expect(code).toBe(1);
    expect(await view(one)).toMatchObject({
      name: one,
      attributes: { mail: "one@example.com" },
      otpkeys: [key.prefix],
      enabled: true,
      password: { imported: "sha256-crypt" },
    });
    expect(await view(three)).toMatchObject({ attributes: { mail: 'a "quoted"; text' }, enabled: false });
    expect(await isRight(one, password)).toBe(true);
    expect(await isRight(three, password)).toBe(true);
    const rows = readLines(report);
    expect(rows[0]).toBe("file,line,username,outcome,reason");
    expect(rows[1]).toBe(`${file},2,${one},imported,`);
    for (const secret of [hash, unicode, "5ec2e7"])
      expect([out, error, readFileSync(report, "utf8")].join()).not.toContain(secret);

    expect(await run(args)).toMatchObject({ code: 1, out: expect.stringContaining("2 already present, 4 refused") });
  });

  it("reads JSON Lines, and names what Core refuses", async () => {
    const [one, two, other] = [newName(), newName(), newName()];
    await auth.core("POST", "/users", { username: other, password: "correct horse battery" });
    const file = fileOf(
      [
        { username: one, password: "a fine long password", attributes: { team: "red", size: 4 }, enabled: false },
        { username: two, password_hash: hash, otpkeys: ["nosuchkey"] },
        { username: other, password: "another fine password" },
        { username: newName(), password: "password" },
        [1],
      ]
        .map(each => JSON.stringify(each))
        .join("\n"),
      "users.jsonl",
    );
    const { code, out } = await run([file]);
    expect([code, out.split("\n").sort()]).toEqual([
      1,
      [
        "",
        `${file}:2: refused: Core responded: otpkeys must all be prefixes of existing otpkeys (400)`,
        `${file}:3: refused: Core has a user of this name with another password`,
        `${file}:4: refused: Core responded: password must not be a common password, a repetition, or a run such as abcdefgh (400)`,
        `${file}:5: refused: it is no object in JSON`,
        "5 users: 1 imported, 4 refused",
      ],
    ]);
    expect(await view(one)).toMatchObject({ attributes: { team: "red", size: "4" }, enabled: false });
  });

  it("sends nothing in a dry run, but checks every line", async () => {
    const name = newName();
    const file = fileOf(`username,password_hash\n${name},${hash}\n${newName()},$2b$14$${"a".repeat(53)}\n`);
    const { code, out } = await run(["--dry-run", file]);
    expect(out).toBe(
      `${file}:3: refused: its password_hash costs too much for a sign-in: at most cost 13\n2 users: 1 refused, 1 to be sent\n`,
    );
    expect(code).toBe(1);
    expect((await auth.core("GET", `/users/${name}`)).status).toBe(404);
  });

  it("sends 100 users in one call, and fewer if the body would become too large", async () => {
    const users = Array.from({ length: 130 }, () => ({ username: newName(), password_hash: hash }));
    const large = Array.from({ length: 8 }, () => ({
      username: newName(),
      password_hash: hash,
      attributes: { a: "x".repeat(32_000), b: "y".repeat(32_000), c: "z".repeat(32_000) },
    }));
    const file = fileOf([...users, ...large].map(each => JSON.stringify(each)).join("\n"));
    proxy.resetRequests();
    expect(await through(file)).toMatchObject({ code: 0, out: "138 users: 138 imported\n" });
    expect(proxy.count("POST", /users\/batch/)).toBe(4);
    expect(await through(file)).toMatchObject({ code: 0, out: "138 users: 138 already present\n" });
  });

  it.each([
    [["--map", "name=uid"], "uid,password\nann,x\n", "--map name=uid: name is no field."],
    [["--map", "username"], "uid,password\nann,x\n", "--map username: FIELD=COLUMN is no field."],
    [["--map", "username=nowhere"], "uid,password\nann,x\n", "has no column nowhere."],
    [
      [],
      "username,password\nann,5ec2e7,5ec2e7\n",
      "is no CSV with a header: CSV_RECORD_INCONSISTENT_COLUMNS on line 2",
    ],
    // Without a header the first user would be taken for one.
    [[], "ann,5ec2e7\nbob,5ec2e7\n", "has no column username."],
  ])("tries nothing with the arguments %j and the file %j, and quotes no password", async (args, text, message) => {
    const { code, out, error } = await run([...args, fileOf(text)]);
    expect([code, error]).toEqual([2, expect.stringContaining(message)]);
    expect(out + error).not.toContain("5ec2e7");
  });

  it("reads one column as several fields, and a mapped column in place of one that has the name of the field", async () => {
    const name = `${newName()}@example.com`;
    const file = fileOf(`mail,password_hash,pw\n${name},$1$old$5ec2e7,${hash}\n`);
    const maps = ["username=mail", "attributes.mail=mail", "password_hash=pw"].flatMap(map => ["--map", map]);
    const { code, error } = await run([...maps, file]);
    expect([code, error]).toEqual([0, expect.stringContaining("not read: password_hash\n")]);
    expect(await view(name)).toMatchObject({ attributes: { mail: name } });
    expect(await isRight(name, password)).toBe(true);
  });

  it("refuses what is no text, as its form as a text could be another one", async () => {
    const file = fileOf(
      [
        { username: { first: "ann" }, password_hash: hash },
        { username: newName(), password: 12345678901 },
        { username: newName(), password_hash: [hash] },
        { username: newName(), password_hash: hash, attributes: null, enabled: null, otpkeys: null },
        { username: newName(), password_hash: hash, attributes: "red" },
        { username: newName(), password_hash: hash, attributes: { one: {}, two: 2 ** 60, three: null, four: 4 } },
        { username: newName(), password_hash: hash, otpkeys: [{}], enabled: [] },
      ]
        .map(each => JSON.stringify(each))
        .join("\n"),
    );
    const { code, out } = await run(["--dry-run", file]);
    const refused = out.split("\n").map(line => line.slice(file.length + 1));
    expect([code, ...refused.slice(0, 6)]).toEqual([
      1,
      "1: refused: its username is no text; it has no username",
      "2: refused: its password is no text; it has neither password nor password_hash",
      "3: refused: its password_hash is no text; it has neither password nor password_hash",
      "5: refused: its attributes are no object",
      "6: refused: its attribute one is no text; its attribute two is no text",
      "7: refused: its otpkeys is no text; its enabled is no text",
    ]);
    expect(out).toContain("7 users: 6 refused, 1 to be sent\n");
  });

  it("refuses a line in another encoding: name and password would be others", async () => {
    const latin1 = Buffer.from(`username,password\nM\u00fcller,correct horse\nann,h\u00f6rse battery\n`, "latin1");
    const { code, out } = await run(["--dry-run", fileOf(latin1)]);
    expect([code, out.match(/the file must be UTF-8 or UTF-16/g)?.length]).toEqual([1, 2]);
    const lone = String.raw`{"username":"ann","password":"horse \ud800 battery"}`;
    expect(await run(["--dry-run", fileOf(lone)])).toMatchObject({
      code: 1,
      out: expect.stringContaining("1 refused"),
    });
  });

  it("reads files of hundreds of thousands of lines", async () => {
    const lines = Array.from({ length: 200_000 }, (_, n) => `u${n},`);
    const { code, out } = await run(["--dry-run", fileOf(`username,password\n${lines.join("\n")}\n`)]);
    expect([code, out]).toEqual([0, "200,000 users: 200,000 to be sent\n"]);
  });

  it("sends no more values in one call than Core takes", async () => {
    const attributes = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, "v"]));
    const item: ImportUser = { username: "ann", password: "", attributes, otpkeys: ["a", "b"], enabled: true };
    const few: ImportUser = { ...item, attributes: {}, otpkeys: [] };
    const sizes: number[] = [];
    for (const each of [item, few])
      await runImport(
        Array.from(
          { length: 100 },
          (_, n) => ({ file: "f", line: n, item: each, outcome: "open", reason: "" }) as const,
        ),
        {
          parallel: 1,
          batch: 100,
          bytesOf,
          stop: new AbortController().signal,
          tried: () => {},
          send: async items => {
            sizes.push(items.length);
            refuseHugeJson(JSON.stringify({ users: items }));
            return items.map(() => ({ outcome: "imported", reason: "" }));
          },
        },
      );
    expect(sizes).toEqual([47, 47, 6, 100]);
  });
});

describe("importing the tables of YubiAuth", () => {
  /** The tables as PostgreSQL exports them. */
  function tablesOf(names: readonly string[], prefixes: readonly string[]) {
    const folder = freshPath("yubiauth");
    mkdirSync(folder);
    const write = (name: string, lines: readonly string[]) =>
      writeFileSync(join(folder, `${name}.csv`), lines.join("\n"));
    write("users", [
      "id,name,auth,attribute_association_id",
      `1,${names[0]},${hash},11`,
      `2,${names[1]},${hash},`,
      `3,${names[2]},,12`,
    ]);
    write("yubikeys", ["id,prefix,enabled,attribute_association_id", `7,${prefixes[0]},t,`, `8,${prefixes[1]},f,13`]);
    // The table has no key: an OTP key that was assigned twice is there twice.
    write("user_yubikeys", ["user_id,yubikey_id", "1,7", "1,8", "2,8", "1,7"]);
    write("attributes", [
      "id,association_id,key,value",
      "1,11,mail,ford@example.com",
      "2,11,_ldap_bind_dn,cn=ford",
      "3,12,mail,zaphod@example.com",
      "4,13,_revoke,code",
    ]);
    return folder;
  }

  it("creates the users with hashes, attributes and the OTP keys that were enabled", async () => {
    const [lives, revoked] = [await newKey(), await newKey()];
    const users = [newName(), newName(), newName()];
    const folder = tablesOf(users, [lives.prefix, revoked.prefix]);
    const report = freshPath("report.csv");
    expect(await run(["--report", report, folder])).toMatchObject({ code: 0, out: "3 users: 3 imported\n" });
    const [one = "", two = "", three = ""] = users;
    expect(await view(one)).toMatchObject({
      attributes: { mail: "ford@example.com" },
      otpkeys: [lives.prefix],
      password: { imported: "sha256-crypt" },
    });
    expect(await view(two)).toMatchObject({ attributes: {}, otpkeys: [] });
    expect(await view(three)).toEqual({
      id: expect.any(Number),
      name: three,
      attributes: { mail: "zaphod@example.com" },
      otpkeys: [],
      enabled: true,
    });
    expect(readLines(report).slice(1)).toEqual([
      `${folder}/users.csv,2,${one},imported,not assigned because disabled: ${revoked.prefix}`,
      `${folder}/users.csv,3,${two},imported,not assigned because disabled: ${revoked.prefix}`,
      `${folder}/users.csv,4,${three},imported,`,
    ]);
    expect(await isRight(one, password)).toBe(true);
    expect(await logIn({ username: one, password, otp: lives.otp(0) })).toBe(200);
    expect(await logIn({ username: one, password })).toBe(401);
    expect(await run([folder])).toMatchObject({ code: 0, out: "3 users: 3 already present\n" });
  });

  it("tries nothing without a table or a column", async () => {
    const folder = tablesOf([newName(), newName(), newName()], ["aaa", "bbb"]);
    writeFileSync(join(folder, "yubikeys.csv"), "id,public_id\n7,ccc\n");
    expect(await run([folder])).toMatchObject({
      code: 2,
      error: `${folder}/yubikeys.csv has no column prefix, enabled.\n`,
    });
    writeFileSync(join(folder, "yubikeys.csv"), "id,prefix,enabled\n");
    writeFileSync(join(folder, "users.csv"), "id,name,auth,attribute_association_id\n");
    expect(await run([folder])).toMatchObject({
      code: 1,
      out: `${folder}/users.csv:1: refused: the file contains no user\n1 user: 1 refused\n`,
    });
    const empty = freshPath("empty");
    mkdirSync(empty);
    expect(await run([empty])).toMatchObject({ code: 2, error: `${empty}/users.csv cannot be read (ENOENT).\n` });
  });
});

describe("an import of users that is interrupted", () => {
  it("ends with 130, and the next run completes it", async () => {
    const users = Array.from({ length: 40 }, () => ({ username: newName(), password_hash: hash }));
    const file = fileOf(users.map(each => JSON.stringify(each)).join("\n"));
    const args = ["--url", auth.coreUrl, "--batch", "1", "--parallel", "1", file];
    const { child, ended } = startImport(args, { env: { API_TOKEN: auth.token }, command: "commands/import-users.ts" });
    child.stderr?.once("data", () => child.kill("SIGINT"));
    const { code, out, error } = await ended;
    expect(code).toBe(130);
    expect(error).toContain("are open: run the same command again to continue.");
    expect(out).toMatch(/\d+ imported, \d+ open/);
    const again = await run([file]);
    expect(again.code).toBe(0);
    expect(again.out).toMatch(/^40 users: \d+ imported, \d+ already present\n$/);
  });
});
