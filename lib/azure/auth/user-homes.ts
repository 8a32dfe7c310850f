import type { Backup } from "../maintenance/read-backup.ts";
import { createdAt, pointerId } from "./index/ids.ts";
import { endOfRename } from "./rows/renamed-rows.ts";
import { userRow } from "./rows/rows.ts";

/**
 * Where the rows of a user are in a backup, and where they are restored. They differ for a user who was renamed during
 * the backup.
 */
export interface Home {
  readonly from: string;
  readonly userHash: string;
  readonly epoch: number;
  /** End of the rename that is restored, see `endOfRename`; absent for a user whose rows are where they were read. */
  readonly ends?: string;
  /** The name, if it is not that of the rows. */
  readonly name?: string;
  /** The user was deleted during the backup, and another one has the name. */
  readonly isDeleted?: true;
}

/**
 * Returns the partition of each user by id. A backup contains a user who was renamed meanwhile twice, or only under the
 * former name. The rows that were complete first are restored: those of the former name, whose rename has left them for
 * a day.
 */
export async function homesOf(backup: Backup): Promise<ReadonlyMap<number, Home>> {
  const homes = new Map<number, Home>();
  const claims: { readonly id: number; readonly rename: string; readonly home: Home }[] = [];
  const committed = new Set<string>();
  const renameOf = (...parts: readonly unknown[]) => parts.join(" ");
  for await (const { partitionKey, rowKey, id, renamed, from, to, ends, epoch } of backup.rows("users")) {
    const owner = renamed ?? id;
    if (rowKey !== userRow || typeof owner !== "number" || typeof epoch !== "number") continue;
    const known = homes.get(owner);
    const home = { from: partitionKey, userHash: typeof to === "string" ? to : partitionKey, epoch };
    if (renamed === undefined && (known === undefined || epoch < known.epoch)) homes.set(owner, home);
    if (from !== undefined) claims.push({ id: owner, rename: renameOf(owner, from, partitionKey), home });
    if (to === undefined) continue;
    committed.add(renameOf(owner, partitionKey, to));
    const isDuring = typeof ends === "string" && ends >= endOfRename(backup.startedAt);
    if (isDuring && (known === undefined || epoch <= known.epoch)) homes.set(owner, { ...home, ends });
  }
  // A crash after the commit leaves the claim as it is until the user is read.
  for (const { id, rename, home } of claims) if (!homes.has(id) && committed.has(rename)) homes.set(id, home);
  if (sharedIn(homes).length > 0) await separate(homes, await pointersIn(backup));
  return homes;
}

const sharedIn = (homes: ReadonlyMap<number, Home>) =>
  [...Map.groupBy(homes, ([, { userHash }]) => userHash).values()].filter(users => users.length > 1);

/**
 * Separates users who would be restored under one name, because one left it during the backup and another one took it.
 * Pointers are backed up last, and a user's pointer is correct before another user can take the name. So the users get
 * the names of their pointers. If pointers name the same name too, its last owner has it, and the others were deleted.
 */
async function separate(homes: Map<number, Home>, pointers: ReadonlyMap<number, Pick<Home, "userHash" | "name">>) {
  const moved = new Set<number>();
  const toMove = () => sharedIn(homes).flatMap(users => users.filter(([id]) => !moved.has(id)));
  for (let users = toMove(); users.length > 0; users = toMove()) {
    for (const [id, home] of users) {
      moved.add(id);
      const pointer = pointers.get(id);
      if (pointer !== undefined && pointer.userHash !== home.userHash) homes.set(id, { ...home, ...pointer });
    }
  }
  const cameAt = ([id, { ends }]: readonly [number, Home]) => ends ?? endOfRename(createdAt(id));
  for (const users of sharedIn(homes)) {
    const [, ...former] = users.toSorted((one, other) => (cameAt(one) < cameAt(other) ? 1 : -1));
    for (const [id, home] of former) homes.set(id, { ...home, isDeleted: true });
  }
}

async function pointersIn(backup: Backup): Promise<ReadonlyMap<number, { userHash: string; name: string }>> {
  const pointers = new Map<number, { userHash: string; name: string }>();
  for await (const row of backup.rows("ids")) {
    const { list, userHash, name } = row;
    const id = pointerId(row);
    if (id === undefined || list !== "users") continue;
    if (typeof userHash === "string" && typeof name === "string") pointers.set(id, { userHash, name });
  }
  return pointers;
}
