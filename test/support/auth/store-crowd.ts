import { attributeHint, holderHint, listHint, nameHint } from "../../../lib/auth/hints.table.ts";
import { idKey } from "../../../lib/auth/tables.table.ts";
import { nameColumns } from "../../../lib/auth/users/names.table.ts";
import { userParts } from "../../../lib/auth/users/user-rows.table.ts";
import type { Action } from "../../../lib/platform/azure/tables.ts";
import { type AuthStorage, plainKey } from "./store.ts";

/** Users `crowd<n>` with ids from 1 on, alike in attributes and key. Index rows are written by the hundred. */
export async function addUsers(
  { tables, store, now }: AuthStorage,
  { count, attributes, prefix }: { count: number; attributes: Record<string, string>; prefix: string },
): Promise<void> {
  const key = await store.otpkeys.create(plainKey(prefix));
  const users = Array.from({ length: count }, (_, n) => ({ id: n + 1, name: `crowd${n}` }));
  const hintsOf = ({ id, name }: (typeof users)[number]) => [
    listHint(name, id),
    holderHint(prefix, id),
    ...Object.entries(attributes).map(([attribute, value]) => attributeHint(attribute, value, id)),
  ];
  for (const hints of Map.groupBy(users.flatMap(hintsOf), hint => hint.partitionKey).values()) {
    const [{ table, partitionKey } = { table: "", partitionKey: "" }] = hints;
    await inBatches(
      tables,
      table,
      partitionKey,
      hints.map(({ rowKey }) => ({ insert: { rowKey, schema: 1 } })),
    );
  }
  const otpkeys = [{ prefix, id: key?.key.value.id ?? 0 }];
  const work = users.values();
  const worker = async () => {
    for (const { id, name } of work) {
      const { partitionKey, rowKey } = nameHint(name, id);
      await tables.table("names").insert({ partitionKey, rowKey, ...nameColumns.toColumns({ id, by: 1 }) });
      const parts = userParts({ id, name, epoch: 1, enabled: true, otpkeys, createdAt: now() }, attributes);
      await tables.table("users").transact(
        idKey(id),
        parts.map(part => ({ insert: part })),
      );
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function inBatches(tables: AuthStorage["tables"], table: string, partition: string, actions: Action[]) {
  for (let start = 0; start < actions.length; start += 100) {
    await tables.table(table).transact(partition, actions.slice(start, start + 100));
  }
}
