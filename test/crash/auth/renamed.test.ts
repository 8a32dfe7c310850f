import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namePartition } from "../../../lib/auth/storage/hints.table.ts";
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
  userRowAt,
  type Write,
} from "./interrupted-calls.ts";
import { password, sessionOf } from "./system.ts";

let hosts: InterruptedHosts;

const newNameOf = ({ name }: Owner) => `renamed-${name}`;
const hexOf = (name: string) => Buffer.from(name, "utf8").toString("hex");

/** The writes of a rename in their order. */
const writes: Readonly<Record<string, (owner: Owner) => Write>> = {
  "the notices are sent": ({ id }) => ({ path: /\$batch$/, body: new RegExp(`notice[^]*${id}`) }),
  "the name row is written": owner => ({
    method: "POST",
    path: /\/names\b/,
    body: new RegExp(namePartition(newNameOf(owner))),
  }),
  "the index row is written": owner => ({
    method: "PUT",
    path: new RegExp(`/index\\(.*RowKey='${hexOf(newNameOf(owner))}-${idKey(owner.id)}'`),
  }),
  "the rename is committed": ({ id }) => ({ method: "PUT", path: userRowAt(id) }),
  "the former name row goes": ({ name }) => ({
    method: "DELETE",
    path: new RegExp(`/names\\(.*'${namePartition(name)}'`),
  }),
  "the former index row goes": ({ name, id }) => ({
    method: "DELETE",
    path: new RegExp(`/index\\(.*RowKey='${hexOf(name)}-${idKey(id)}'`),
  }),
};

const points = pointsOf(writes, "the rename is committed");
const owners: Owner[] = [];
let holds: readonly Hold[];

beforeAll(async () => {
  hosts = await startInterruptedHosts();
  const calls: InterruptedCall[] = [];
  for (const [index, { rule, phase }] of points.entries()) {
    const owner = await newOwner(hosts.survivor, index);
    const fields = { username: newNameOf(owner) };
    owners.push(owner);
    calls.push({
      rule: { phase, ...rule(owner) },
      send: killed => killed.core("POST", `/users/${owner.name}/rename`, fields),
    });
  }
  holds = await hosts.interrupt(calls);
});

afterAll(() => hosts.close());

const found = async (query: string) => (await hosts.survivor.core("GET", `/users?${query}`)).body;

describe("a rename that a killed host left half-way, and the former name created again", () => {
  test.each(points.map(({ point, phase, isCommitted }, index) => ({ point, phase, isCommitted, index })))(
    "$point: leaves the user complete under one name, and the next owner of the former name inherits nothing",
    async ({ phase, isCommitted, index }) => {
      const { survivor: host } = hosts;
      const [owner, hold] = [owners[index] as Owner, holds[index] as Hold];
      const { name, id, key, mark, session } = owner;
      const newName = newNameOf(owner);
      /** Fails unless reads and filters return the user, complete and under this name. */
      const expectComplete = async (current: string) => {
        expect(await found(`mark=${mark}`)).toEqual([{ id, name: current }]);
        expect(await found(`otpkey=${key.prefix}`)).toEqual([{ id, name: current }]);
        const user = { id, name: current, attributes: { mark }, otpkeys: [key.prefix] };
        for (const each of [current, id]) expect((await host.core("GET", `/users/${each}`)).body).toMatchObject(user);
      };
      await expectComplete(isCommitted ? newName : name);
      expect((await host.core("GET", `/users/${isCommitted ? name : newName}`)).status).toBe(404);
      expect((await host.client("/status", {}, session)).status).toBe(isCommitted ? 401 : 200);
      if (!isCommitted) {
        const repeated = await host.core("POST", `/users/${name}/rename`, { username: newName });
        expect([repeated.status, repeated.body]).toEqual([200, { id, name: newName }]);
      }

      const next = await createNextOwner(host, owner);
      await expectComplete(newName);
      expect((await host.core("GET", `/users/${name}`)).body).toEqual({
        id: next,
        name,
        attributes: {},
        otpkeys: [],
        enabled: true,
      });
      // What was under way when the host was killed may reach storage as late as now.
      await hosts.arriveLate(hold, phase);

      await expectComplete(newName);
      const listed = (await found("")) as { id: number; name: string }[];
      expect(listed.filter(each => [id, next].includes(each.id))).toEqual([
        { id, name: newName },
        { id: next, name },
      ]);
      await expectNextOwner(host, owner, next);
      const renamed = await host.client("/login", { username: newName, password, otp: key.next() });
      expect(renamed.status).toBe(200);
      expect((await host.client("/status", {}, sessionOf(renamed))).body).toMatchObject({ user_id: id });
      expect(await found(`mark=${mark}`)).toEqual([
        { id, name: newName },
        { id: next, name },
      ]);
    },
  );
});
