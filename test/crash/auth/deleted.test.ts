import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attributePartition, namePartition } from "../../../lib/auth/storage/hints.table.ts";
import { idKey } from "../../../lib/auth/storage/tables.table.ts";
import type { Hold } from "../../support/host/pausing-proxy.ts";
import {
  createNextOwner,
  expectNextOwner,
  type InterruptedCall,
  type InterruptedHosts,
  newOwner,
  type Owner,
  pointsOf,
  startInterruptedHosts,
  type Write,
} from "./interrupted-calls.ts";
import { newKey } from "./key.ts";

let hosts: InterruptedHosts;

/** The writes of a deletion in their order. */
const writes: Readonly<Record<string, (owner: Owner) => Write>> = {
  "the user goes": ({ id }) => ({ path: /\$batch$/, body: new RegExp(`${idKey(id)}[^]*"gone":true`) }),
  "the attribute's index row goes": ({ id, mark }) => ({
    method: "DELETE",
    path: new RegExp(`/index\\(.*'${attributePartition("mark", mark)}'.*RowKey='${idKey(id)}'`),
  }),
  "the key's index row goes": ({ id }) => ({
    method: "DELETE",
    path: new RegExp(`/otpkeys\\(.*RowKey='user:${idKey(id)}'`),
  }),
  "the name row goes": ({ name }) => ({ method: "DELETE", path: new RegExp(`/names\\(.*'${namePartition(name)}'`) }),
  "the user's rows go": ({ id }) => ({ path: /\$batch$/, body: new RegExp(`DELETE [^\n]*${idKey(id)}`) }),
};

const points = pointsOf(writes, "the user goes");
const owners: Owner[] = [];
let holds: readonly Hold[];

/** The writes of an import of several keys. @param own a text in the prefixes of its keys alone */
const importWrites: Readonly<Record<string, (own: string) => Write>> = {
  "the first key is written": own => ({ path: /\$batch$/, body: new RegExp(`"${own}0"`) }),
  "the fourth key is written": own => ({ path: /\$batch$/, body: new RegExp(`"${own}3"`) }),
};

const importPoints = Object.entries(importWrites).flatMap(([write, rule], index) =>
  (["request", "response"] as const).map(phase => {
    const own = `batch${index}${phase}k`;
    const otpkeys = Array.from({ length: 8 }, (_, n) => newKey("hotp", own + n).fields);
    return { point: `${phase === "request" ? "before" : "after"} ${write}`, phase, own, otpkeys, rule: rule(own) };
  }),
);

beforeAll(async () => {
  hosts = await startInterruptedHosts();
  const calls: InterruptedCall[] = [];
  for (const [index, { rule, phase }] of points.entries()) {
    const owner = await newOwner(hosts.survivor, index);
    owners.push(owner);
    calls.push({
      rule: { phase, ...rule(owner) },
      send: killed => killed.core("DELETE", `/users/${owner.name}`),
    });
  }
  for (const { rule, phase, otpkeys } of importPoints) {
    calls.push({
      rule: { phase, ...rule },
      send: killed => killed.process.call("POST", "/core/otpkeys/batch", { otpkeys }),
    });
  }
  holds = await hosts.interrupt(calls);
});

afterAll(() => hosts.close());

const found = async (query: string) => (await hosts.survivor.core("GET", `/users?${query}`)).body;

describe("a name whose deletion a killed host left half-way, made again", () => {
  test.each(points.map(({ point, phase, isCommitted }, index) => ({ point, phase, isCommitted, index })))(
    "$point: inherits no attribute, key, session or failure",
    async ({ phase, isCommitted, index }) => {
      const { survivor: host } = hosts;
      const [owner, hold] = [owners[index] as Owner, holds[index] as Hold];
      const { name, id, key, mark, session } = owner;
      expect((await host.core("GET", `/users/${name}`)).status).toBe(isCommitted ? 404 : 200);
      expect((await host.client("/status", {}, session)).status).toBe(isCommitted ? 401 : 200);
      if (!isCommitted) expect((await host.core("DELETE", `/users/${name}`)).status).toBe(204);

      const next = await createNextOwner(host, owner);
      const expectNothingInherited = async () => {
        const user = { id: next, name, attributes: {}, otpkeys: [], enabled: true };
        expect((await host.core("GET", `/users/${name}`)).body).toEqual(user);
        expect(await found(`otpkey=${key.prefix}`)).toEqual([]);
        expect(await found(`mark=${mark}`)).toEqual([]);
      };
      await expectNothingInherited();
      // What was under way when the host was killed may reach storage as late as now.
      await hosts.arriveLate(hold, phase);

      expect((await host.core("GET", `/users/${id}`)).status).toBe(404);
      expect((await host.core("GET", `/users/${name}/otpkeys/${key.prefix}`)).status).toBe(404);
      expect((await host.core("GET", `/otpkeys/${key.prefix}`)).status).toBe(200);
      await expectNothingInherited();
      expect(await found("")).not.toContainEqual({ id, name });
      expect(await found("")).toContainEqual({ id: next, name });
      await expectNextOwner(host, owner, next);
      expect(await found(`mark=${mark}`)).toEqual([{ id: next, name }]);
    },
  );
});

describe("an import of several keys that a killed host left half-way, sent again", () => {
  test.each(importPoints.map((each, index) => ({ ...each, index: points.length + index })))(
    "$point: imports every key once, also if the last write of the first call arrives later",
    async ({ own, otpkeys, phase, index }) => {
      const { survivor: host } = hosts;
      const again = await host.process.call("POST", "/core/otpkeys/batch", { otpkeys });
      const { results } = again.body as { results: readonly { status: number; prefix: string }[] };
      expect(results.map(({ prefix }) => prefix)).toEqual(otpkeys.map(({ prefix }) => prefix));
      expect(results.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      await hosts.arriveLate(holds[index] as Hold, phase);
      const listed = async () =>
        ((await host.core("GET", "/otpkeys")).body as readonly { prefix: string }[])
          .map(({ prefix }) => prefix)
          .filter(prefix => prefix.startsWith(own))
          .sort();
      expect(await listed()).toEqual(otpkeys.map(({ prefix }) => prefix));
    },
  );

  test("leaves two rows of each key", async () => {
    const stored = await hosts.system.rows("otpkeys");
    for (const { own, otpkeys } of importPoints)
      expect(stored.filter(({ partitionKey }) => partitionKey?.startsWith(own))).toHaveLength(2 * otpkeys.length);
  });
});
