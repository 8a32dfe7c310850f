import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashUsername } from "../../../lib/auth/user-hash.ts";
import { idKey } from "../../../lib/azure/auth/rows/rows.ts";
import { type Hold, type HoldRule, type PausingProxy, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { newKey } from "./key.ts";
import { type AuthHost, type AuthSystem, password, sessionOf, startAuthSystem } from "./system.ts";

let system: AuthSystem;
let proxy: PausingProxy;
let host: AuthHost;

/** A user with everything that a user can have. */
interface Owner {
  readonly name: string;
  readonly newName: string;
  readonly id: number;
  readonly key: ReturnType<typeof newKey>;
  /** Value of the attribute `mark`, which no other user has. */
  readonly mark: string;
  readonly session: string;
}

const userRowAt = (name: string) => new RegExp(`/users\\(.*'${hashUsername(name)}'.*'user'`);
const listRowOf = ({ id }: Owner) => new RegExp(`/ids\\(.*'users'.*RowKey='${idKey(id)}'`);

/** The writes of a rename in their order. */
const writes: Readonly<Record<string, (owner: Owner) => Omit<HoldRule, "phase">>> = {
  "the expiry row is written": ({ newName }) => ({
    method: "PUT",
    path: new RegExp(`/expiry\\(.*${hashUsername(newName)}`),
  }),
  "the new name is claimed": ({ newName }) => ({
    path: /\$batch$/,
    body: new RegExp(`${hashUsername(newName)}[^]*"renamed"`),
  }),
  "the list row is marked dirty": owner => ({ method: "PUT", path: listRowOf(owner) }),
  "the rows are copied": ({ newName }) => ({
    path: /\$batch$/,
    body: new RegExp(`${hashUsername(newName)}[^]*attr:mark`),
  }),
  "the rename is committed": ({ name }) => ({ method: "PUT", path: userRowAt(name) }),
  "the claim becomes the user": ({ newName }) => ({ method: "PUT", path: userRowAt(newName) }),
  "the pointer is changed": ({ id }) => ({ path: new RegExp(`/ids\\(.*'pointer:${idKey(id)}'`), method: "PATCH" }),
  "the attribute's index row is changed": ({ id }) => ({
    method: "PATCH",
    path: new RegExp(`/attributeusers\\(.*RowKey='${idKey(id)}'`),
  }),
  "the key's index row is changed": ({ id }) => ({
    method: "PATCH",
    path: new RegExp(`/otpkeys\\(.*RowKey='user:${idKey(id)}'`),
  }),
  "the former list row goes": ({ id }) => ({ method: "DELETE", path: new RegExp(`/ids\\(.*-${idKey(id)}'`) }),
};

/** Each write is paused before storage receives it, and after storage has done it. */
const points = Object.entries(writes).flatMap(([write, rule], index) =>
  (["request", "response"] as const).map(phase => {
    const commit = Object.keys(writes).indexOf("the rename is committed");
    return {
      point: `${phase === "request" ? "before" : "after"} ${write}`,
      phase,
      rule,
      isCommitted: index > commit || (index === commit && phase === "response"),
    };
  }),
);

const cases: { owner: Owner; hold: Hold; phase: HoldRule["phase"] }[] = [];

beforeAll(async () => {
  system = await startAuthSystem({ AUTH_THROTTLE_FAILURES: "2", AUTH_THROTTLE_FIRST_WAIT_SECONDS: "3600" });
  proxy = await startPausingProxy(system.storage.tableUrl);
  const [killed, survivor] = await Promise.all([system.startHost({ through: proxy }), system.startHost()]);
  host = survivor;
  for (const [index, { phase, rule }] of points.entries()) {
    const owner = await newOwner(index);
    cases.push({ owner, phase, hold: proxy.hold({ phase, ...rule(owner) }) });
  }
  const unanswered = cases.map(({ owner }) =>
    killed.core("POST", `/users/${owner.name}/rename`, { username: owner.newName }).then(
      ({ status }) => `answered ${status}`,
      () => "unanswered",
    ),
  );
  await Promise.all(cases.map(({ hold }) => hold.untilHeld()));
  await killed.process.kill();
  expect(await Promise.all(unanswered)).toEqual(cases.map(() => "unanswered"));
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

async function newOwner(index: number): Promise<Owner> {
  const [name, newName, mark] = [`owner-${index}`, `renamed-${index}`, `mark-${index}`];
  const key = newKey("hotp", `owned${index}`);
  const created = await host.core("POST", "/users", { username: name, password });
  await host.core("POST", "/otpkeys", key.fields);
  await host.core("POST", `/users/${name}/otpkeys`, { otpkey: key.prefix });
  await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark });
  const session = sessionOf(await host.client("/login", { username: name, password, otp: key.next() }));
  for (const _ of Array(2)) await host.client("/login", { username: name, password });
  expect((await host.client("/login", { username: name, password })).status).toBe(429);
  return { name, newName, id: (created.body as { id: number }).id, key, mark, session };
}

const found = async (query: string) => (await host.core("GET", `/users?${query}`)).body;

describe("a rename that a killed host left half-way, and the former name created again", () => {
  test.each(points.map(({ point, isCommitted }, index) => ({ point, isCommitted, index })))(
    "$point: leaves the user complete under one name, and the next owner of the former name inherits nothing",
    async ({ index, isCommitted }) => {
      const { owner, hold, phase } = cases[index] as (typeof cases)[number];
      const { name, newName, id, key, mark, session } = owner;
      const current = isCommitted ? newName : name;
      const user = (username: string) => ({ id, name: username, attributes: { mark }, otpkeys: [key.prefix] });
      expect(await found(`mark=${mark}`)).toEqual([{ id, name: current }]);
      expect(await found(`otpkey=${key.prefix}`)).toEqual([{ id, name: current }]);
      for (const each of [current, id]) {
        expect((await host.core("GET", `/users/${each}`)).body).toMatchObject(user(current));
      }
      expect((await host.core("GET", `/users/${isCommitted ? name : newName}`)).status).toBe(404);
      expect((await host.client("/status", {}, session)).status).toBe(isCommitted ? 401 : 200);
      if (!isCommitted) {
        const repeated = await host.core("POST", `/users/${name}/rename`, { username: newName });
        expect([repeated.status, repeated.body]).toEqual([200, { id, name: newName }]);
      }

      const again = await host.core("POST", "/users", { username: name, password: "another good password" });
      expect(again.status).toBe(201);
      const next = (again.body as { id: number }).id;
      // What was under way when the host was killed may reach storage as late as now.
      if (phase === "request") {
        const late = proxy.hold({ phase: "response" });
        hold.release();
        await late.untilHeld();
        late.drop();
      } else hold.drop();

      expect((await host.core("GET", `/users/${name}`)).body).toEqual({ id: next, name, attributes: {}, otpkeys: [] });
      for (const each of [newName, id]) {
        expect((await host.core("GET", `/users/${each}`)).body).toMatchObject(user(newName));
      }
      expect(await found(`mark=${mark}`)).toEqual([{ id, name: newName }]);
      expect(await found(`otpkey=${key.prefix}`)).toEqual([{ id, name: newName }]);
      const listed = (await found("")) as { id: number; name: string }[];
      expect(listed.filter(each => [id, next].includes(each.id))).toEqual([
        { id, name: newName },
        { id: next, name },
      ]);
      expect((await host.client("/status", {}, session)).status).toBe(401);
      expect((await host.client("/login", { username: name, password })).status).toBe(401);
      const login = await host.client("/login", { username: name, password: "another good password" });
      expect(login.status).toBe(200);
      expect((await host.client("/status", {}, sessionOf(login))).body).toMatchObject({ user_id: next, prefix: null });
      const renamed = await host.client("/login", { username: newName, password, otp: key.next() });
      expect(renamed.status).toBe(200);
      expect((await host.client("/status", {}, sessionOf(renamed))).body).toMatchObject({ user_id: id });
      await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark });
      expect(await found(`mark=${mark}`)).toEqual([
        { id, name: newName },
        { id: next, name },
      ]);
    },
  );
});
