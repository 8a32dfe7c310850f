import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namePartition } from "../../../lib/auth/storage/hints.table.ts";
import made from "../../support/auth/imported-hashes.json" with { type: "json" };
import type { Hold } from "../../support/host/pausing-proxy.ts";
import { type InterruptedHosts, pointsOf, startInterruptedHosts, type Write } from "./interrupted-calls.ts";
import { type Key, newKey } from "./key.ts";
import { type AuthHost, statuses } from "./system.ts";

const [[password, hash] = ["", ""]] = made as [string, string][];

interface Imported {
  readonly name: string;
  readonly key: Key;
  readonly element: Readonly<Record<string, unknown>>;
}

/** The writes of an import of one user in their order. */
const writes: Readonly<Record<string, (of: Imported) => Write>> = {
  "the notices": ({ name }) => ({ path: /\$batch$/, body: new RegExp(namePartition(name)) }),
  "the name row": ({ name }) => ({ method: "POST", path: /\/names$/, body: new RegExp(namePartition(name)) }),
  "the holder of the OTP key": ({ key }) => ({ path: /\$batch$/, body: new RegExp(`${key.prefix}[^]*user:`) }),
  "the user": ({ name }) => ({ path: /\$batch$/, body: new RegExp(`"name":"${name}"`) }),
};

const points = pointsOf(writes, "the user");
const imported: Imported[] = [];
let hosts: InterruptedHosts;
let holds: readonly Hold[];

const send = (host: AuthHost, users: readonly unknown[]) => host.process.call("POST", "/core/users/batch", { users });
type Result = { readonly status: number; readonly id: number };
const resultsOf = (body: unknown) => (body as { results: readonly Result[] }).results;

beforeAll(async () => {
  hosts = await startInterruptedHosts();
  for (const [index] of points.entries()) {
    const [name, key] = [`imported-${index}`, newKey("hotp", `moved${index}`)];
    await hosts.survivor.core("POST", "/otpkeys", key.fields);
    const attributes = { mark: `moved-${index}` };
    imported.push({ name, key, element: { username: name, password_hash: hash, attributes, otpkeys: [key.prefix] } });
  }
  holds = await hosts.interrupt(
    points.map(({ rule, phase }, index) => {
      const of = imported[index] as Imported;
      return { rule: { phase, ...rule(of) }, send: killed => send(killed, [of.element]) };
    }),
  );
});

afterAll(() => hosts.close());

describe("a user whose import a killed host left half-way, imported again", () => {
  test.each(points.map(({ point, phase, isCommitted }, index) => ({ point, phase, isCommitted, index })))(
    "$point: is there once and completely, or not at all before",
    async ({ phase, isCommitted, index }) => {
      const { survivor: host } = hosts;
      const { name, key, element } = imported[index] as Imported;
      expect((await host.core("GET", `/users/${name}`)).status).toBe(isCommitted ? 200 : 404);

      const again = resultsOf((await send(host, [element])).body);
      expect(again.map(({ status }) => status)).toEqual([isCommitted ? 200 : 201]);
      // What was under way when the host was killed may reach storage as late as now.
      await hosts.arriveLate(holds[index] as Hold, phase);

      const [{ id } = { id: 0 }] = again;
      const user = { id, name, attributes: element.attributes, otpkeys: [key.prefix], enabled: true };
      const { body } = await host.core("GET", `/users/${name}`);
      expect(body).toEqual({ ...user, password: { imported: "sha256-crypt" } });
      for (const filter of [`mark=moved-${index}`, `otpkey=${key.prefix}`, `$prefix=${name}`])
        expect((await host.core("GET", `/users?${filter}`)).body).toEqual([{ id, name }]);
      expect(resultsOf((await send(host, [element])).body)).toMatchObject([{ status: 200, id }]);
      expect((await host.client("/login", { username: name, password, otp: key.next() })).status).toBe(200);
      expect((await host.core("GET", `/users/${name}`)).body).not.toHaveProperty("password");
    },
  );
});

describe("an import beside sign-ins, on two hosts", () => {
  test("grants each sign-in after the user is there, and the import stays the same", async () => {
    const other = await hosts.system.startHost();
    const users = Array.from({ length: 6 }, (_, n) => ({ username: `racing-${n}`, password_hash: hash }));
    const signIns = Array.from({ length: 18 }, async (_, n) => {
      const host = n % 2 === 0 ? hosts.survivor : other;
      const username = `racing-${n % 6}`;
      const known = (await host.core("GET", `/users/${username}`)).status === 200;
      const { status } = await host.client("/authenticate", { username, password });
      const { body } = await host.client("/authenticate", { username, password });
      return { status, isWrong: known && body === false };
    });
    const imports = [send(hosts.survivor, users), send(other, users)];
    for (const { body } of await Promise.all(imports))
      for (const { status } of resultsOf(body)) expect([200, 201]).toContain(status);
    expect((await Promise.all(signIns)).filter(({ isWrong }) => isWrong)).toEqual([]);
    const ended = await Promise.all(users.map(({ username }) => other.client("/login", { username, password })));
    expect(Object.keys(statuses(ended)).every(status => status === "200" || status === "429")).toBe(true);
    for (const { status } of resultsOf((await send(other, users)).body)) expect(status).toBe(200);
  });
});
