import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashUsername } from "../../../lib/auth/user-hash.ts";
import { idKey } from "../../../lib/azure/auth/rows/rows.ts";
import { minutes } from "../../../lib/time.ts";
import { type Hold, type HoldRule, type PausingProxy, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { newKey } from "./key.ts";
import { type AuthHost, type AuthSystem, password, sessionOf, startAuthSystem } from "./system.ts";

let system: AuthSystem;
let proxy: PausingProxy;
let host: AuthHost;

/** A user with all that a user can have, and where that lies. */
interface Owner {
  readonly name: string;
  readonly id: number;
  readonly prefix: string;
  /** Value of the attribute `mark`, which no other user has. */
  readonly mark: string;
  readonly session: string;
}

/** The writes of a deletion in their order. */
const writes: Readonly<Record<string, (owner: Owner) => Omit<HoldRule, "phase">>> = {
  "the list row is opened": ({ id }) => ({ method: "PUT", path: new RegExp(`/ids\\(.*RowKey='${idKey(id)}'`) }),
  "the user goes": ({ name }) => ({ method: "DELETE", path: new RegExp(`/users\\(.*'${hashUsername(name)}'.*'user'`) }),
  "the attribute's index row goes": ({ id }) => ({
    method: "DELETE",
    path: new RegExp(`/attributeusers\\(.*RowKey='${idKey(id)}'`),
  }),
  "the key's index row goes": ({ id }) => ({
    method: "DELETE",
    path: new RegExp(`/otpkeys\\(.*RowKey='user:${idKey(id)}'`),
  }),
  "the user's other rows go": ({ name }) => ({ path: /\$batch$/, body: new RegExp(hashUsername(name)) }),
  "the list row goes": ({ id }) => ({ method: "DELETE", path: new RegExp(`/ids\\(.*RowKey='${idKey(id)}'`) }),
};

/** Each write is paused before storage receives it, and after storage has done it. */
const points = Object.entries(writes).flatMap(([write, rule]) =>
  (["request", "response"] as const).map(phase => ({
    point: `${phase === "request" ? "before" : "after"} ${write}`,
    phase,
    rule,
    stays: write === "the list row is opened" || (write === "the user goes" && phase === "request"),
  })),
);

/** The writes of an import of several keys. @param own a text in the prefixes of its keys alone */
const importWrites: Readonly<Record<string, (own: string) => Omit<HoldRule, "phase">>> = {
  "the pointers are written": own => ({ path: /\$batch$/, body: new RegExp(`pointer:[^]*${own}`) }),
  "the list rows are written": own => ({
    path: /\$batch$/,
    body: new RegExp(`"clean":false[^]*${own}|${own}[^]*"clean":false`),
  }),
  "the fourth key is written": own => ({ method: "POST", path: /\/otpkeys/, body: new RegExp(`"${own}3"`) }),
  "the list rows are marked clean": own => ({ path: /\$batch$/, body: new RegExp(`${own}[^]*"clean":true`) }),
};

const importPoints = Object.entries(importWrites).flatMap(([write, rule], index) =>
  (["request", "response"] as const).map(phase => {
    const own = `batch${index}${phase}k`;
    const otpkeys = Array.from({ length: 8 }, (_, n) => newKey("hotp", own + n).fields);
    return { point: `${phase === "request" ? "before" : "after"} ${write}`, phase, own, otpkeys, rule: rule(own) };
  }),
);
const importHolds: Hold[] = [];

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
  for (const { phase, rule } of importPoints) importHolds.push(proxy.hold({ phase, ...rule }));
  const calls = [
    ...cases.map(({ owner }) => killed.core("DELETE", `/users/${owner.name}`)),
    ...importPoints.map(({ otpkeys }) => killed.process.call("POST", "/core/otpkeys/batch", { otpkeys })),
  ];
  const unanswered = calls.map(call =>
    call.then(
      ({ status }) => `answered ${status}`,
      () => "unanswered",
    ),
  );
  await Promise.all([...cases.map(({ hold }) => hold), ...importHolds].map(hold => hold.untilHeld()));
  await killed.process.kill();
  expect(await Promise.all(unanswered)).toEqual(calls.map(() => "unanswered"));
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

async function newOwner(index: number): Promise<Owner> {
  const [name, mark] = [`owner-${index}`, `mark-${index}`];
  const key = newKey("hotp", `owned${index}`);
  const created = await host.core("POST", "/users", { username: name, password });
  await host.core("POST", "/otpkeys", key.fields);
  await host.core("POST", `/users/${name}/otpkeys`, { otpkey: key.prefix });
  await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark });
  const session = sessionOf(await host.client("/login", { username: name, password, otp: key.next() }));
  for (const _ of Array(2)) await host.client("/login", { username: name, password });
  expect((await host.client("/login", { username: name, password })).status).toBe(429);
  return { name, id: (created.body as { id: number }).id, prefix: key.prefix, mark, session };
}

/** Lets a write arrive that was on its way when the host was killed. */
async function arriveLate(hold: Hold): Promise<void> {
  const late = proxy.hold({ phase: "response" });
  hold.release();
  await late.untilHeld();
  late.drop();
}

const found = async (query: string) => (await host.core("GET", `/users?${query}`)).body;

describe("a name whose deletion a killed host left half-way, made again", () => {
  test.each(points.map(({ point, stays }, index) => ({ point, stays, index })))(
    "$point: inherits no attribute, key, session or failure",
    async ({ index, stays }) => {
      const { owner, hold, phase } = cases[index] as (typeof cases)[number];
      const { name, id, prefix, mark, session } = owner;
      expect((await host.core("GET", `/users/${name}`)).status).toBe(stays ? 200 : 404);
      expect((await host.client("/status", {}, session)).status).toBe(stays ? 200 : 401);
      if (stays) expect((await host.core("DELETE", `/users/${name}`)).status).toBe(204);

      const again = await host.core("POST", "/users", { username: name, password: "another good password" });
      expect(again.status).toBe(201);
      const next = (again.body as { id: number }).id;
      // What was under way when the host was killed may reach storage as late as now.
      if (phase === "request") await arriveLate(hold);
      else hold.drop();

      expect((await host.core("GET", `/users/${name}`)).body).toEqual({ id: next, name, attributes: {}, otpkeys: [] });
      expect((await host.core("GET", `/users/${id}`)).status).toBe(404);
      expect((await host.core("GET", `/users/${name}/otpkeys/${prefix}`)).status).toBe(404);
      expect((await host.core("GET", `/otpkeys/${prefix}`)).status).toBe(200);
      expect(await found(`otpkey=${prefix}`)).toEqual([]);
      expect(await found(`mark=${mark}`)).toEqual([]);
      expect(await found("")).not.toContainEqual({ id, name });
      expect(await found("")).toContainEqual({ id: next, name });
      expect((await host.client("/status", {}, session)).status).toBe(401);
      expect((await host.client("/login", { username: name, password })).status).toBe(401);
      const login = await host.client("/login", { username: name, password: "another good password" });
      expect(login.status).toBe(200);
      expect((await host.client("/status", {}, sessionOf(login))).body).toMatchObject({ user_id: next, prefix: null });
      await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark });
      expect(await found(`mark=${mark}`)).toEqual([{ id: next, name }]);
    },
  );
});

describe("an import of several keys that a killed host left half-way, sent again", () => {
  const listRows = async (own: string) =>
    (await system.rows("ids")).filter(row => row.partitionKey === "otpkeys" && String(row.prefix).startsWith(own));

  test.each(importPoints.map((each, index) => ({ ...each, index })))(
    "$point: imports every key once, also if the last write of the first call arrives later",
    async ({ own, otpkeys, phase, index }) => {
      const again = await host.process.call("POST", "/core/otpkeys/batch", { otpkeys });
      const { results } = again.body as { results: readonly { status: number; prefix: string }[] };
      expect(results.map(({ prefix }) => prefix)).toEqual(otpkeys.map(({ prefix }) => prefix));
      expect(results.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      const hold = importHolds[index] as Hold;
      if (phase === "request") await arriveLate(hold);
      else hold.drop();
      const listed = async () =>
        ((await host.core("GET", "/otpkeys")).body as readonly { prefix: string }[])
          .map(({ prefix }) => prefix)
          .filter(prefix => prefix.startsWith(own))
          .sort();
      expect(await listed()).toEqual(otpkeys.map(({ prefix }) => prefix));
      const stored = (await system.rows("otpkeys")).filter(row => row.partitionKey?.startsWith(own));
      expect(stored).toHaveLength(otpkeys.length);
    },
  );

  test("leaves no list row that a list does not repair an hour later", async () => {
    system.clock.advance(minutes(61));
    await host.core("GET", "/otpkeys");
    for (const { own, otpkeys } of importPoints) {
      const rows = await listRows(own);
      expect(rows.map(({ prefix }) => prefix).sort(), own).toEqual(otpkeys.map(({ prefix }) => prefix));
      expect(rows.filter(({ clean }) => clean !== true)).toEqual([]);
    }
  });
});
