import { afterAll, describe, expect, test } from "vitest";
import { core as coreApi } from "../../../functions/auth/routes.ts";
import { createAuthResources } from "../../support/auth/auth-resources.ts";
import { fieldsOf } from "../../support/auth/core-bodies.ts";
import { throughFrontEnd } from "../../support/host/front-end.ts";
import { startMain } from "../main-process.ts";

const { settings, bearer } = await createAuthResources();
/** The deployed app in a process of its own, called over HTTP. */
const main = await startMain(settings);

afterAll(async () => {
  const lines = await main.end();
  expect(lines.filter(({ event }) => event === "failed")).toEqual([]);
});

interface Outcome {
  readonly status: number;
  readonly body: unknown;
}

/** For any input a refusal is a sentence and never a 500. */
async function outcomeOf(response: Response): Promise<Outcome> {
  const { status } = response;
  const text = await response.text();
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  expect(status).toBeLessThan(500);
  if (status >= 400 && body !== undefined) expect(body).toEqual({ error: expect.stringMatching(/\S/) });
  return { status, body };
}

type Fields = Readonly<Record<string, string>>;
const send = async (method: string, path: string, fields: Fields | undefined, headers: Record<string, string> = {}) =>
  outcomeOf(await fetch(main.url + path, { method, headers, ...(fields && { body: new URLSearchParams(fields) }) }));
const core = (method: string, path: string, fields?: Fields) => send(method, `/core${path}`, fields, bearer);
const login = async (fields: Fields) => (await send("POST", "/client/login", fields)).status;
const segment = encodeURIComponent;
const foundBy = async (query: string) =>
  ((await core("GET", `/users?${query}`)).body as { id: number }[]).map(({ id }) => id);
const password = "a password of every user";

await core("POST", "/users", { username: "bystander", password });
await core("POST", "/users/bystander/attributes", { key: "mine", value: "x" });
/** A user who is given everything. */
const { id: owner } = (await core("POST", "/users", { username: "owner", password: "" })).body as { id: number };

/** What Table storage forbids in keys, OData, URLs, forms, JSON, JavaScript or people could take for something else. */
const texts = [
  ...["'", "''", '"', "%", "%%", "%41", "%2527", "+", "&", "=", ";", ",", "/", "\\", "?", "#", ":", "@", "!", "*", "~"],
  ...["$", "$top", "$filter=1", "$batch", "(", ")", "[]", "{}", "<script>"],
  ...["`", "|", "^", "a b", ".", "..", "...", "-"],
  ...["' or 1 eq 1 or '", "PartitionKey eq 'x'", "x')/users(PartitionKey='y", "datetime'2031-01-01'", "null", "true"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "user", "throttle", "attributes", "attr:x", "key:x"],
  ...["\u0000", "a\u0000b", "\t", "\n", "a\r\nSet-Cookie: x=y", "\u007f", "\u0085"],
  ...["\u2028", "\u00a0", "\u200b", "\u202e"],
  ...["e\u0301", "\u1e9b\u0323", "\u0130", "\u212b"],
  ...["\u{1f469}\u200d\u{1f680}\u{1f3fd}", "\u{10ffff}", "\ufffd", "\ufffe"],
  ...["0", "007", "9007199254740993", "-1", "1e3", "\u0661\u0662", "x".repeat(128), "x".repeat(129), "x".repeat(1024)],
  ...["\u{1f984}".repeat(128), "K\u0301".repeat(60), "a%41b", "o'neil", "\u05d0\u05d1"],
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
  test("as a name finds, signs in and deletes that user and no other", async () => {
    await forEachText(async text => {
      const { status, body } = await core("POST", "/users", { username: text, password });
      const path = `/users/${segment(text)}`;
      if (status === 201) {
        const { id, name } = body as { id: number; name: string };
        expect(name).toBe(text.trim().normalize("NFC"));
        expect((await core("GET", path)).body).toEqual({ id, name, attributes: {}, otpkeys: [], enabled: true });
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
    const { id } = (await core("POST", "/users", { username: "of-values", password: "" })).body as { id: number };
    await forEachText(async (text, index) => {
      const key = `value-${index}`;
      expect((await core("POST", `/users/${id}/attributes`, { key, value: text })).status).toBe(204);
      expect((await core("GET", `/users/${id}/attributes/${key}`)).body).toBe(text);
      expect(await foundBy(`${key}=${segment(text)}`)).toEqual([id]);
      expect(await foundBy(`${key}=${segment(`${text}.`)}`)).toEqual([]);
    });
    const values = Object.fromEntries(texts.map((text, index) => [`value-${index}`, text]));
    expect((await core("GET", `/users/${id}/attributes`)).body).toEqual(values);
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

  test("as a password, which has ten texts because each hash costs CPU", async () => {
    await core("POST", "/users", { username: "of-words", password: "" });
    for (let first = 0; first < texts.length; first += 10) {
      const words = texts.slice(first, first + 10);
      const fields = { username: "of-words", password: `the words are ${words.join(" ").slice(0, 1000)}` };
      const named = `with ${JSON.stringify(words.map(text => text.slice(0, 60)))}`;
      expect((await core("POST", "/users/of-words/reset", { password: fields.password })).status, named).toBe(204);
      expect((await send("POST", "/client/authenticate", fields)).body, named).toBe(true);
    }
  });
});

const endsUser = (route: string): boolean => /^DELETE \/users\/\{user\}$|^POST \/users\/\{user\}\/delete$/.test(route);

describe("names that become equal by one more decoding", () => {
  /** Each is the percent-encoding of the one before. */
  const chains = [
    ["alice", "alic%65", "alic%2565", "alic%252565"],
    ["a b", "a%20b", "a%2520b"],
    ["a+b", "a%2Bb", "a%252Bb"],
    ["100%", "100%25", "100%2525"],
    ["%41", "%2541"],
    ["a.b", "a%2Eb"],
    ["%2E%2e", "%252E%252e"],
    ["%00", "%2500"],
    ["a%5Cb", "a%255Cb"],
    ["a%3Fb", "a%253Fb"],
    ["%5B%zz", "%255B%25zz"],
    ["éa", "e\u0301a", "é%61"],
  ];
  /** Every route of the Core API that names a user, with what it may be given. */
  const userRoutes = Object.values(coreApi.endpoints)
    .flatMap(({ routes }) => routes)
    .filter(route => route.includes("{user}"))
    // What ends the user comes last.
    .toSorted((a, b) => Number(endsUser(a)) - Number(endsUser(b)));
  const calls: (readonly [string, string])[] = userRoutes.map(route => {
    const [method = "", path = ""] = route.split(" ");
    return [method, path];
  });

  /** The texts after the first one are read, changed and deleted only: a route takes them all alike. */
  const few: typeof calls = [
    ["GET", "/users/{user}"],
    ["POST", "/users/{user}/reset"],
    ["DELETE", "/users/{user}"],
  ];
  const cases = chains.map((chain, n) =>
    n === 0 ? { chain, by: calls, of: "every route" } : { chain, by: few, of: "three routes" },
  );

  test.each(cases)("of $chain each names one user alone, through $of", async ({ chain, by }) => {
    expect(calls.length).toBeGreaterThan(30);
    expect(calls).toEqual(expect.arrayContaining(few));
    for (const name of chain) {
      const made = await core("POST", "/users", { username: name, password });
      expect(made.status).toBe(201);
      const { id, name: kept } = made.body as { id: number; name: string };
      await core("POST", `/users/${id}/attributes`, { key: "mine", value: "x" });
      await core("POST", `/users/${id}/otpkeys`, { otpkey: "mine" });
      const call = (method: string, path: string, user: string) => {
        const target = path.replace("{user}", segment(user)).replace("{prefix}", "mine").replace("{key}", "mine");
        const fields = fieldsOf(path, { prefix: "other", later: "2031-01-31T00:00:00Z" });
        return core(method, target, method === "POST" ? fields : undefined);
      };
      for (const other of chain.filter(each => each.normalize("NFC") !== kept)) {
        for (const [method, path] of by) {
          // An unknown name can be locked too: its lock is shown and cleared.
          const expected = path.endsWith("/unlock") ? 204 : path.endsWith("/lock") ? 200 : 404;
          expect([method, path, other, (await call(method, path, other)).status]).toEqual([
            method,
            path,
            other,
            expected,
          ]);
        }
      }
      // Once for all other names, because each validation costs a hash.
      const asBefore = { id, name: kept, attributes: { mine: "x" }, otpkeys: ["mine"], enabled: true };
      expect((await core("GET", `/users/${id}`)).body, name).toEqual(asBefore);
      const valid = await core("POST", `/users/${id}/validate`, { password });
      expect(valid.body, name).toMatchObject({ valid_password: true });
      expect((await core("GET", `/users/${segment(name)}`)).body).toMatchObject({ id });
      expect((await core("DELETE", `/users/${segment(name)}`)).status).toBe(204);
      expect((await core("GET", `/users/${id}`)).status).toBe(404);
    }
  });

  test("of two that both are users each is signed in, changed and deleted by its own name", async () => {
    const [one, two] = ["carol%65", "carol%2565"];
    for (const username of [one, two]) expect((await core("POST", "/users", { username, password })).status).toBe(201);
    const reset = { password: "another good password" };
    expect((await core("POST", `/users/${segment(two)}/reset`, reset)).status).toBe(204);
    expect([await login({ username: one, password }), await login({ username: two, password })]).toEqual([200, 401]);
    expect(await login({ username: two, ...reset })).toBe(200);
    expect((await core("DELETE", `/users/${segment(two)}`)).status).toBe(204);
    expect(await login({ username: one, password })).toBe(200);
  });

  test("a prefix and an attribute's key are reached by their own spelling alone", async () => {
    await core("POST", `/users/${owner}/attributes`, { key: "mine", value: "x" });
    await core("POST", `/users/${owner}/otpkeys`, { otpkey: "mine" });
    for (const twice of ["min%2565", "%256dine", "min%252565"]) {
      for (const method of ["GET", "DELETE"]) {
        expect((await core(method, `/users/${owner}/attributes/${twice}`)).status).toBe(400);
        expect((await core(method, `/otpkeys/${twice}`)).status).toBe(404);
      }
      expect((await core("DELETE", `/users/${owner}/otpkeys/${twice}`)).status).toBe(404);
      expect((await core("POST", `/otpkeys/${twice}/disable`)).status).toBe(404);
    }
    // Encoded once, it is the same text.
    expect((await core("GET", `/users/${owner}/attributes/min%65`)).body).toBe("x");
    expect((await core("GET", "/otpkeys/min%65")).body).toMatchObject({ prefix: "mine", enabled: true });
    expect((await core("DELETE", `/users/${owner}/attributes/mine`)).status).toBe(204);
    expect((await core("DELETE", "/otpkeys/mine")).status).toBe(204);
  });

  // The host hands over `%2F` and `%252F` alike, and so it does with bytes that are no UTF-8.
  test.each(["a%2Fb", "a%2fb", "%FF", "a%80", "Jos%E9"])(
    "may not keep what the host leaves encoded: %s is no name",
    async username => {
      const { status, body } = await core("POST", "/users", { username, password });
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain("must not contain %2F or %80 to %FF");
      for (const path of [username, segment(username)]) {
        expect((await core("GET", `/users/${path}`)).status).toBe(404);
        expect((await core("DELETE", `/users/${path}`)).status).toBe(404);
      }
      expect(await login({ username, password })).toBe(401);
    },
  );
});

describe("a path that Azure's front end decodes before the host does", () => {
  const viaFrontEnd = (method: string, path: string, fields?: Fields) => {
    const passedOn = throughFrontEnd(`/core${path}`);
    return send(method, passedOn.path, fields, { ...bearer, ...passedOn.headers });
  };

  test.each(["dora", "do ra", "d\u00f6ra", "d+o:r@a", "100% dora", "dora%"])("names the user %s", async username => {
    const { id } = (await core("POST", "/users", { username, password })).body as { id: number };
    expect(await viaFrontEnd("GET", `/users/${segment(username)}`)).toMatchObject({ status: 200, body: { id } });
    expect((await viaFrontEnd("DELETE", `/users/${segment(username)}`)).status).toBe(204);
  });

  test.each([
    ["DELETE", "/users/bystande%2572", "the name bystande%72"],
    ["DELETE", "/users/bystander%2Fattributes%2Fmine", "the name bystander/attributes/mine"],
    ["DELETE", "/users/bystander%5Cattributes%5Cmine", "the name bystander\\attributes\\mine"],
    ["DELETE", "/users/bystander/attributes/min%2565", "the key min%65"],
    ["DELETE", "/users/bystander/attributes/%2e%2e", "the key .."],
  ])("never changes another user: %s of %s is refused, which has %s", async (method, path) => {
    expect((await viaFrontEnd(method, path)).status).toBe(400);
    expect((await core("GET", "/users/bystander")).body).toMatchObject({ attributes: { mine: "x" } });
  });
});

test("who was not meant is as before", async () => {
  expect((await core("GET", `/users/${owner}`)).body).toMatchObject({ attributes: {}, otpkeys: [] });
  expect((await core("GET", "/users/bystander")).body).toMatchObject({ attributes: { mine: "x" }, otpkeys: [] });
  expect(await login({ username: "bystander", password })).toBe(200);
});
