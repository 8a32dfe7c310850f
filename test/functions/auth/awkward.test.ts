import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startVault, type Vault } from "../../../local/peers/vault.ts";
import { createStores } from "../../../local/system.ts";
import { localTokens } from "../../../local/tokens.ts";
import { freshStorage } from "../../support/storage.ts";
import { type MainProcess, startMain } from "../main-process.ts";

/** The deployed app in a process of its own, called over HTTP. */
let main: MainProcess;
let vault: Vault;
let bearer: Record<string, string>;
/** A user who is given everything. */
let owner: number;

beforeAll(async () => {
  vault = await startVault({
    secrets: {
      "data-encryption-key": Buffer.alloc(32, 5).toString("base64url"),
      "password-pepper": Buffer.alloc(32, 6).toString("base64url"),
    },
  });
  bearer = { authorization: `Bearer ${localTokens(vault).core}` };
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  main = await startMain({
    SERVICE_APIS: "core,client",
    CLOUD_STORAGE_CONNECTION_STRING: connectionString,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_STATIC_TOKENS: "true",
  });
  await core("POST", "/users", { username: "bystander", password });
  await core("POST", "/users/bystander/attributes", { key: "mine", value: "x" });
  owner = ((await core("POST", "/users", { username: "owner", password: "" })).body as { id: number }).id;
});

afterAll(async () => {
  const lines = await main.end();
  await vault.close();
  expect(lines.filter(({ event }) => event === "failed")).toEqual([]);
});

interface Told {
  readonly status: number;
  readonly body: unknown;
}

/** Whatever is sent, a refusal is a sentence and never the server's own failure. */
async function told(response: Response): Promise<Told> {
  const { status } = response;
  const text = await response.text();
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  expect(status).toBeLessThan(500);
  if (status >= 400 && body !== undefined) expect(body).toEqual({ error: expect.stringMatching(/\S/) });
  return { status, body };
}

type Fields = Readonly<Record<string, string>>;
const send = async (method: string, path: string, fields: Fields | undefined, headers: Record<string, string> = {}) =>
  told(await fetch(main.url + path, { method, headers, ...(fields && { body: new URLSearchParams(fields) }) }));
const core = (method: string, path: string, fields?: Fields) => send(method, `/core${path}`, fields, bearer);
const login = async (fields: Fields) => (await send("POST", "/client/login", fields)).status;
const segment = encodeURIComponent;
const foundBy = async (query: string) =>
  ((await core("GET", `/users?${query}`)).body as { id: number }[]).map(({ id }) => id);
const password = "a password of everybody";

/** What Table storage forbids in keys, OData, URLs, forms, JSON, JavaScript or people could take for something else. */
const texts = [
  ...["'", "''", '"', "%", "%%", "%41", "%2527", "+", "&", "=", ";", ",", "/", "\\", "?", "#", ":", "@", "!", "*", "~"],
  ...[
    "$",
    "$top",
    "$filter=1",
    "$batch",
    "(",
    ")",
    "[]",
    "{}",
    "<script>",
    "`",
    "|",
    "^",
    "a b",
    ".",
    "..",
    "...",
    "-",
  ],
  ...["' or 1 eq 1 or '", "PartitionKey eq 'x'", "x')/users(PartitionKey='y", "datetime'2031-01-01'", "null", "true"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "user", "throttle", "attributes", "attr:x", "key:x"],
  ...[
    "\u0000",
    "a\u0000b",
    "\t",
    "\n",
    "a\r\nSet-Cookie: x=y",
    "\u007f",
    "\u0085",
    "\u2028",
    "\u00a0",
    "\u200b",
    "\u202e",
  ],
  ...[
    "e\u0301",
    "\u1e9b\u0323",
    "\u0130",
    "\u212b",
    "\u{1f469}\u200d\u{1f680}\u{1f3fd}",
    "\u{10ffff}",
    "\ufffd",
    "\ufffe",
  ],
  ...["0", "007", "9007199254740993", "-1", "1e3", "\u0661\u0662", "x".repeat(128), "x".repeat(129), "x".repeat(1024)],
];

/** One after another for each text, a few texts at once. */
async function forEachText(work: (text: string, index: number) => Promise<void>): Promise<void> {
  const queue = texts.entries();
  const worker = async () => {
    for (const [index, text] of queue) {
      await work(text, index).catch((cause: unknown) => {
        throw new Error(`with ${JSON.stringify(text.slice(0, 60))}`, { cause });
      });
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}

describe("every awkward text round trips, or is refused by a sentence", () => {
  test("as a name: found by it, signed in by it, deleted by it, and nobody else is", async () => {
    await forEachText(async text => {
      const { status, body } = await core("POST", "/users", { username: text, password });
      const path = `/users/${segment(text)}`;
      if (status === 201) {
        const { id, name } = body as { id: number; name: string };
        expect(name).toBe(text.trim().normalize("NFC"));
        expect((await core("GET", path)).body).toEqual({ id, name, attributes: {}, otpkeys: [] });
        expect(await login({ username: text, password })).toBe(200);
        expect((await core("DELETE", path)).status).toBe(204);
        expect((await core("GET", `/users/${id}`)).status).toBe(404);
      } else {
        expect(status).toBe(400);
        expect(await login({ username: text })).toBe(401);
        // Dots are no segment: what is left of the path is another.
        if ([".", ".."].includes(text)) return;
        for (const method of ["GET", "DELETE"]) expect([400, 404]).toContain((await core(method, path)).status);
      }
    });
  });

  test("as a value: read as it is, and its owner alone is found by it", async () => {
    await forEachText(async (text, index) => {
      const key = `value-${index}`;
      expect((await core("POST", `/users/${owner}/attributes`, { key, value: text })).status).toBe(204);
      expect((await core("GET", `/users/${owner}/attributes/${key}`)).body).toBe(text);
      expect(await foundBy(`${key}=${segment(text)}`)).toEqual([owner]);
      expect(await foundBy(`${key}=${segment(`${text}.`)}`)).toEqual([]);
      expect((await core("DELETE", `/users/${owner}/attributes/${key}`)).status).toBe(204);
    });
  });

  test("as an attribute's key", async () => {
    await forEachText(async text => {
      const set = await core("POST", `/users/${owner}/attributes`, { key: text, value: "mine" });
      const path = `/users/${owner}/attributes/${segment(text)}`;
      if (set.status === 204) {
        expect((await core("GET", path)).body).toBe("mine");
        expect(await foundBy(`${segment(text)}=mine`)).toEqual(text === "otpkey" ? [] : [owner]);
        expect((await core("DELETE", path)).status).toBe(204);
      } else {
        expect(set.status).toBe(400);
        if ([".", ".."].includes(text)) return;
        expect([400, 404]).toContain((await core("GET", path)).status);
        if (!text.startsWith("$")) expect(await foundBy(`${segment(text)}=mine`)).toEqual([]);
      }
    });
  });

  test("as a key's prefix, also in front of an OTP", async () => {
    await forEachText(async (text, index) => {
      const assigned = await core("POST", `/users/${owner}/otpkeys`, { otpkey: text });
      expect(await foundBy(`otpkey=${segment(text)}`)).toEqual(assigned.status === 204 ? [owner] : []);
      const path = `/otpkeys/${segment(text)}`;
      if (assigned.status === 204) {
        expect((await core("GET", path)).body).toMatchObject({ prefix: text.toLowerCase(), enabled: true });
        expect((await core("DELETE", path)).status).toBe(204);
      } else {
        expect(assigned.status).toBe(400);
        if (![".", ".."].includes(text)) expect([400, 404]).toContain((await core("GET", path)).status);
      }
      for (const otp of [text, `${text}755224`]) expect(await login({ username: `nobody-${index}`, otp })).toBe(401);
    });
  });

  test("as a password", async () => {
    await forEachText(async (text, index) => {
      const given = `the word is ${text.slice(0, 1000)}`;
      const fields = { username: `word-${index}`, password: given };
      expect((await core("POST", "/users", fields)).status).toBe(201);
      expect((await send("POST", "/client/authenticate", fields)).body).toBe(true);
    });
  });
});

test("who was not meant is as before", async () => {
  expect((await core("GET", `/users/${owner}`)).body).toMatchObject({ attributes: {}, otpkeys: [] });
  expect((await core("GET", "/users/bystander")).body).toMatchObject({ attributes: { mine: "x" }, otpkeys: [] });
  expect(await login({ username: "bystander", password })).toBe(200);
});
