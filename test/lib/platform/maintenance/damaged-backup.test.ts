import { createHash, randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { TableClient } from "@azure/data-tables";
import { beforeAll, describe, expect, test } from "vitest";
import { authTasks } from "../../../../functions/auth/start/maintenance-tasks.ts";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { attributeColumns } from "../../../../lib/auth/attributes/attribute-rows.table.ts";
import { authBackedUp, verifyAuth } from "../../../../lib/auth/restore.table.ts";
import { authTables, idKey, schemaVersion } from "../../../../lib/auth/tables.table.ts";
import { responsesContainer } from "../../../../lib/connector/collect/responses.blob.ts";
import { claimStore } from "../../../../lib/connector/create/claims.table.ts";
import { connectorTables, requestStore } from "../../../../lib/connector/storage/requests.table.ts";
import type { Blobs } from "../../../../lib/platform/azure/blobs.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { backupsContainer, openBackup } from "../../../../lib/platform/maintenance/read-backup.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { type TestAuth, testAuth } from "../../../support/auth/test-auth.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";
import { runTask } from "../../../support/run-task.ts";
import { dumpOf, filesOf, killedAfter } from "../../../support/storage/backups.ts";

const peers = await peersOfFile();
const shipmentsTable = "fprshipments";
const tablesOf = { auth: authTables, connector: connectorTables(shipmentsTable) };
const containersOf = { auth: [], connector: [responsesContainer] };

type Service = keyof typeof tablesOf;

/** A service with a little of everything, and a backup of it. */
interface Subject {
  readonly service: Service;
  readonly deployment: TestAuth["deployment"];
  readonly backup: string;
  run(name: string, input?: object, deployment?: TestAuth["deployment"]): Promise<Readonly<Record<string, unknown>>>;
  dump(): Promise<readonly string[]>;
  files: ReturnType<typeof filesOf>;
  events(name: string): readonly Readonly<Record<string, unknown>>[];
}

async function authSubject(): Promise<Subject> {
  const auth = await testAuth();
  await auth.deployment.blobs.createContainer(backupsContainer);
  for (let n = 0; n < 3; n++) {
    const user = await auth.makeUser();
    await auth.logIn(user);
    await auth.giveKey(user, hotpKey());
    await auth.post(`/core/users/${user.id}/attributes`, { key: "dept", value: "x" });
  }
  const spent = { partitionKey: "ccccccccccbd", rowKey: "hash", schema: 1, ends: "2099-01-01T00:00:00.000Z" };
  await auth.deployment.tables.table("spentotps").insert(spent);
  return subject("auth", auth, (name, input, deployment) =>
    runTask(authTasks, name, input, { ...auth.context, deployment }),
  );
}

async function connectorSubject(): Promise<Subject> {
  const connector: TestConnector = await testConnector(peers);
  await connector.deployment.blobs.createContainer(backupsContainer);
  for (let n = 0; n < 2; n++) await connector.order();
  await connector.runShipments();
  const now = connector.now();
  const claim = { scope: "a".repeat(64), fingerprint: "f", requestId: "r", claimedAt: now, endsAt: now };
  await connector.context.claims.insert(claim);
  return subject("connector", connector, async (name, input, deployment) => {
    const { tables, log } = deployment;
    const own = {
      requests: requestStore(tables, { shipmentsTable, now: connector.now, log }),
      claims: claimStore(tables),
    };
    return runTask(connectorTasks, name, input, { ...connector.context, ...own, log, deployment });
  });
}

async function subject(
  service: Service,
  { deployment, events }: Pick<TestAuth, "deployment" | "events">,
  work: (name: string, input: object, deployment: TestAuth["deployment"]) => Promise<Readonly<Record<string, unknown>>>,
): Promise<Subject> {
  const run: Subject["run"] = (name, input = {}, on = deployment) => work(name, input, on);
  const made = await run("backUp");
  const { [rowsTable[service]]: rows } = made.rows as Readonly<Record<string, number>>;
  expect(rows).toBe((await Array.fromAsync(deployment.tables.table(rowsTable[service]).scan())).length);
  expect(made).toMatchObject({ blobs: service === "auth" ? {} : { [responsesContainer]: 2 }, removed: 0 });
  const backup = String(made.backup);
  const dump = () => dumpOf(deployment, tablesOf[service], containersOf[service]);
  return { service, deployment, backup, run, dump, files: filesOf(deployment.blobs, service, backup), events };
}

const subjects = { auth: authSubject, connector: connectorSubject };
const rowsFile = { auth: "tables/users/000001.jsonl", connector: "tables/credentialrequests/000001.jsonl" };
const rowsTable = { auth: "users", connector: "credentialrequests" };

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};
const middle = (bytes: Buffer) => Math.floor(bytes.length / 2);

/** Damages a backup; a name of a file is given to the damages of one. */
const ofAFile: Readonly<Record<string, (files: Subject["files"], name: string) => Promise<void>>> = {
  "is missing": (files, name) => files.remove(name),
  "is empty": (files, name) => files.write(name, ""),
  "is truncated": async (files, name) => {
    const bytes = await files.read(name);
    await files.write(name, bytes.subarray(0, middle(bytes)));
  },
  "has a flipped bit": async (files, name) => {
    const bytes = await files.read(name);
    await files.write(name, flipped(bytes, middle(bytes)));
  },
  "has one byte more": async (files, name) =>
    files.write(name, Buffer.concat([await files.read(name), Buffer.from("\n")])),
};

const ofAll: Readonly<Record<string, (on: Subject) => Promise<void>>> = {
  "of another schema": ({ files }) => files.writeManifest(content => ({ ...content, schema: 99 })),
  "of one line less than it counts": ({ files, service }) =>
    files.writeManifest(({ tables, ...content }) => {
      const [first, ...others] = tables[rowsTable[service]] ?? [];
      return { ...content, tables: { ...tables, [rowsTable[service]]: [{ ...first, lines: 10_000 }, ...others] } };
    }),
  "that lacks a table": ({ files, service }) =>
    files.writeManifest(({ tables: { [rowsTable[service]]: _, ...tables }, ...content }) => ({ ...content, tables })),
  "with a row without keys": ({ files, service }) =>
    files.changeRows(rowsTable[service], ({ rowKey: _, ...row }) => row),
  "with a row of a later schema version": ({ files, service }) =>
    files.changeRows(rowsTable[service], row => ({ ...row, schema: 99 })),
  "with a row that fits no schema": ({ files, service }) =>
    files.changeRows(rowsTable[service], row => ({ ...row, createdAt: "yesterday" })),
};

describe.each(["auth", "connector"] as const)(
  "a damaged backup of %s is refused before anything is removed",
  service => {
    let on: Subject;
    let before: readonly string[];
    beforeAll(async () => {
      on = await subjects[service]();
      before = await on.dump();
    });

    const refused = async (kind: string) => {
      await expect(on.run("restore", { backup: on.backup, replace: true })).rejects.toMatchObject({ kind });
    };
    // Nothing puts removed rows back, so the last look of a test sees what any of its restores removed.
    const expectNothingRemoved = async () => expect(await on.dump()).toEqual(before);
    /** Damages it, looks, and puts it right again. */
    const during = async (name: string, damage: () => Promise<void>, look: () => Promise<void>) => {
      const [bytes, manifest] = [await on.files.read(name), await on.files.read("manifest.json")];
      await damage();
      try {
        await look();
      } finally {
        await on.files.write(name, bytes);
        await on.files.write("manifest.json", manifest);
      }
    };

    test.each(Object.keys(ofAFile))("where any file of it %s", async how => {
      const names = await on.files.names();
      expect(names.length).toBeGreaterThan(service === "auth" ? 3 : 5);
      for (const name of names) {
        const kind = name === "manifest.json" && how === "is missing" ? "not_found" : "conflict";
        // JSON does not mind an end of line.
        if (name === "manifest.json" && how === "has one byte more") continue;
        await during(
          name,
          async () => ofAFile[how]?.(on.files, name),
          () => refused(kind),
        );
      }
      await expectNothingRemoved();
    });

    test.each(Object.keys(ofAll))("%s", async how => {
      await during(
        rowsFile[service],
        async () => ofAll[how]?.(on),
        () => refused("conflict"),
      );
      await expectNothingRemoved();
    });

    test("names what cannot be read, and restores the rest where that may be skipped", async () => {
      let key = "";
      const damage = () =>
        on.files.changeRows(rowsTable[service], row => {
          const isFirst = (key === "" || key === row.partitionKey) && row.createdAt !== undefined;
          if (isFirst) key = String(row.partitionKey);
          return isFirst ? { ...row, createdAt: "yesterday" } : row;
        });
      await during(rowsFile[service], damage, async () => {
        await refused("conflict");
        await expectNothingRemoved();
        const named = on.events("row_failed").at(-1)?.error as { message: string };
        expect(named.message).toContain(key);
        const report = await on.run("restore", { backup: on.backup, replace: true, skip_unreadable: true });
        expect(report).toMatchObject({ skipped: 1, ...(service === "auth" ? { users: 2 } : { requests: 1 }) });
      });
      await on.run("restore", { backup: on.backup, replace: true });
      before = await on.dump();
    });
  },
);

test("a manifest with any one bit flipped is refused", async () => {
  const on = await authSubject();
  const manifest = await on.files.read("manifest.json");
  const blobs: Blobs = { ...on.deployment.blobs };
  for (let at = 0; at < manifest.length; at++) {
    const damaged: Blobs = { ...blobs, get: async () => flipped(manifest, at) };
    await expect(openBackup(damaged, authBackedUp, on.backup), `byte ${at}`).rejects.toMatchObject({
      kind: "conflict",
    });
  }
});

test.each(["auth", "connector"] as const)(
  "a row of %s with a value that a backup cannot contain is named, and left out of a restore only where that may be skipped",
  async service => {
    const on = await subjects[service]();
    const table = on.deployment.tables.table(rowsTable[service]);
    let key = "";
    const connection = on.deployment.settings.CLOUD_STORAGE_CONNECTION_STRING ?? "";
    const tool = TableClient.fromConnectionString(connection, rowsTable[service], { allowInsecureConnection: true });
    for await (const { partitionKey, rowKey, createdAt } of table.scan()) {
      if (createdAt === undefined) continue;
      // As a tool may write it that takes the text for a time.
      await tool.updateEntity({ partitionKey, rowKey, createdAt: new Date(String(createdAt)) }, "Merge");
      key = partitionKey;
      break;
    }
    const { backup } = await on.run("backUp");
    const named = () => on.events("row_failed").at(-1)?.error as { message: string };
    expect(named().message).toContain(key);
    const before = await on.dump();
    await expect(on.run("restore", { backup, replace: true })).rejects.toMatchObject({ kind: "conflict" });
    expect(named().message).toContain(key);
    expect(await on.dump()).toEqual(before);
    const report = await on.run("restore", { backup, replace: true, skip_unreadable: true });
    expect(report).toMatchObject({ skipped: 1, ...(service === "auth" ? { users: 2 } : { requests: 1 }) });
  },
);

test("a backup with a time of a sign-in that cannot be read is refused", async () => {
  const on = await authSubject();
  let isDamaged = false;
  await on.files.changeRows("users", row => {
    if (isDamaged || row.rowKey !== "login") return row;
    isDamaged = true;
    return { ...row, at: "yesterday" };
  });
  await expect(on.run("restore", { backup: on.backup, replace: true })).rejects.toMatchObject({ kind: "conflict" });
  expect(isDamaged).toBe(true);
});

test("each of several users who cannot be read is named and counted", async () => {
  const on = await authSubject();
  const users: string[] = [];
  await on.files.changeRows("users", row => {
    if (row.rowKey !== "user" || users.length === 2) return row;
    users.push(String(row.partitionKey));
    return { ...row, epoch: "none" };
  });
  const report = await on.run("restore", { backup: on.backup, replace: true, skip_unreadable: true });
  expect(report).toMatchObject({ users: 1, skipped: 2 });
  const named = on.events("row_failed").map(({ error }) => (error as { message: string }).message);
  for (const user of users) expect(named).toContainEqual(expect.stringContaining(user));
});

describe.each(["auth", "connector"] as const)("a restore of %s that is killed", service => {
  test("before its first write has removed nothing, and after any write a second one completes it", async () => {
    const on = await subjects[service]();
    const input = { backup: on.backup, replace: true };
    const before = await on.dump();
    await expect(on.run("restore", input, killedAfter(on.deployment, 0))).rejects.toThrow("killed");
    expect(await on.dump()).toEqual(before);
    await on.run("restore", input);
    const whole = await on.dump();
    let killed = 0;
    // Every write at the beginning, then some: a restore empties first and writes then.
    for (let writes = 1; ; writes += writes < 4 ? 1 : 5) {
      const ended = await on.run("restore", input, killedAfter(on.deployment, writes)).then(
        () => "whole",
        (error: Error) => error.message,
      );
      if (ended === "whole") break;
      expect(ended).toBe("killed");
      killed++;
      await on.run("restore", input);
      expect(await on.dump()).toEqual(whole);
    }
    expect(killed).toBeGreaterThan(6);
  });
});

test("verification of a backup of 60 MB takes the memory of a few files", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const files = 60;
  const value = randomBytes(12_000).toString("hex");
  const fileOf = (n: number) =>
    Array.from({ length: 20 }, (_, row) => {
      const keys = { partitionKey: idKey(n * 20 + row + 1), schema: schemaVersion };
      const attributes = { ...keys, rowKey: "attributes", ...attributeColumns({ a: value, b: value }) };
      const createdAt = "2026-01-01T00:00:00.000Z";
      const user = { ...keys, rowKey: "user", name: "n", enabled: true, epoch: 1, otpkeys: "[]", createdAt };
      return [attributes, user].map(each => `${JSON.stringify(each)}\n`).join("");
    }).join("");
  const listed = Array.from({ length: files }, (_, n) => ({
    name: `tables/users/${n}`,
    lines: 40,
    sha256: createHash("sha256").update(fileOf(n)).digest("hex"),
  }));
  const tables = { users: listed, otpkeys: [], spentotps: [] };
  const content = { schema: 2, startedAt: "", endedAt: "", tables, containers: {} };
  const sha256 = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  let base = 0;
  let most = 0;
  let bytes = 0;
  const used = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const get: Blobs["get"] = async (_, name) => {
    if (name.endsWith("manifest.json")) return Buffer.from(JSON.stringify({ content, sha256 }));
    const n = Number(name.split("/").at(-1));
    if (n % 10 === 0) most = Math.max(most, used());
    const file = Buffer.from(fileOf(n));
    bytes += file.length;
    return file;
  };
  const backup = await openBackup({ get } as Blobs, authBackedUp, "large");
  base = used();
  expect(
    await verifyAuth(
      backup,
      createLog(() => {}),
    ),
  ).toBe(0);
  expect(bytes).toBeGreaterThan(55e6);
  expect(most - base).toBeLessThan(32 * 2 ** 20);
});
