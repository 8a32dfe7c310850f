import { afterAll, beforeAll, describe, expect, test } from "vitest";
import importedHashes from "../../support/auth/imported-hashes.json" with { type: "json" };
import type { Answer } from "../../support/host/host-process.ts";
import { type AuthHost, type AuthSystem, password, startAuthSystem, statuses } from "./system.ts";

let system: AuthSystem;
let hosts: readonly [AuthHost, AuthHost];

beforeAll(async () => {
  system = await startAuthSystem();
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => system.close());

const either = (index: number): AuthHost => hosts[index % 2 === 0 ? 0 : 1];

/** That many calls at once, by turns at both hosts. */
const atOnce = (count: number, call: (host: AuthHost, index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => call(either(index), index)));

const create = (host: AuthHost, username: string) => host.core("POST", "/users", { username, password });

describe("users made at two hosts at once", () => {
  test("8 creations of one name, in any case: one 201, 7 times 409, one user in the list", async () => {
    const answers = await atOnce(8, (host, index) => create(host, index % 3 === 0 ? "Anna" : "aNNA"));
    expect(statuses(answers)).toEqual({ 201: 1, 409: 7 });
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body);
    expect((await hosts[0].core("GET", "/users")).body).toEqual(made);
    expect((await hosts[1].core("GET", "/users/anna")).body).toMatchObject(made[0] as object);
  });
});

describe("a name that is guessed at", () => {
  const guess = (username: string) => (host: AuthHost, index: number) =>
    host.client("/login", { username, password: `wrong guess ${index}` });
  const login = (username: string) => hosts[0].client("/login", { username, password });

  /** What a caller can distinguish responses by, without ids, times and the exact wait. */
  const lookOf = ({ status, headers, body }: Answer) => {
    const wait = Number(headers.get("retry-after"));
    const own = [...headers].filter(([name]) => !["date", "retry-after", "x-request-id"].includes(name));
    return { status, headers: own, waits: wait > 0 && wait <= 30, body };
  };

  test("by 24 at once has exactly ten of them checked, and then throttles also the right password", async () => {
    await create(hosts[0], "guessed");
    const answers = await atOnce(24, guess("guessed"));
    expect(statuses(answers)).toEqual({ 401: 10, 429: 14 });
    expect((await login("guessed")).status).toBe(429);
    await hosts[1].core("POST", "/users/guessed/unlock");
    expect((await login("guessed")).status).toBe(200);
  });

  test("looks the same before and after it is locked, whether or not a user has it", async () => {
    await create(hosts[0], "somebody");
    const looks = async (username: string) => {
      const answers = await atOnce(12, guess(username));
      const locked = await atOnce(2, guess(username));
      return [...answers, ...locked].map(lookOf).sort((one, other) => one.status - other.status);
    };
    const [somebody, unknownName] = [await looks("somebody"), await looks("nobody")];
    expect(somebody.map(({ status, waits }) => [status, waits])).toEqual([
      ...Array(10).fill([401, false]),
      ...Array(4).fill([429, true]),
    ]);
    expect(unknownName).toEqual(somebody);
  });
});

test("an import beside sign-ins grants each that begins after the user is there, and stays the same", async () => {
  const [[imported, hash] = ["", ""]] = importedHashes as [string, string][];
  const users = Array.from({ length: 6 }, (_, n) => ({ username: `racing-${n}`, password_hash: hash }));
  const send = async (host: AuthHost) => {
    const { body } = await host.process.call("POST", "/core/users/batch", { users });
    return (body as { results: readonly { status: number }[] }).results.map(({ status }) => status);
  };
  const signIns = Array.from({ length: 18 }, async (_, n) => {
    const host = either(n);
    const username = `racing-${n % 6}`;
    const isKnown = (await host.core("GET", `/users/${username}`)).status === 200;
    await host.client("/authenticate", { username, password: imported });
    const { body } = await host.client("/authenticate", { username, password: imported });
    return isKnown && body === false;
  });
  for (const status of (await Promise.all(hosts.map(send))).flat()) expect([200, 201]).toContain(status);
  expect(await Promise.all(signIns)).not.toContain(true);
  const ended = await Promise.all(
    users.map(({ username }) => hosts[1].client("/login", { username, password: imported })),
  );
  expect(Object.keys(statuses(ended)).every(status => status === "200" || status === "429")).toBe(true);
  expect(await send(hosts[1])).toEqual(users.map(() => 200));
});
