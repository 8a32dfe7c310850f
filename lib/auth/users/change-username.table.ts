import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { listHint, nameHint, readHint, removeHint, sendNotices, writeHint } from "../hints.table.ts";
import { newEpoch } from "../ids.ts";
import type { User } from "../store.ts";
import { type AuthTables, finishOrLog } from "../tables.table.ts";
import { findUser, readName, releaseName, removeName, waitOncePerVersion, writeName } from "./names.table.ts";
import { replaceUser } from "./user-rows.table.ts";
import { foldUsername, type Username, type UserRef } from "./username.ts";

/**
 * Renames a user, and ends the sessions: the epoch is new. One write of the row `user` by its version is the commit.
 * The row of the new name is written before it, that of the former name is removed after it. Returns `taken` if another
 * user has the name.
 */
export async function changeUsername(
  tables: AuthTables,
  userRef: UserRef,
  { name, folded }: Username,
): Promise<User | "no_user" | "taken"> {
  const found = await findUser(tables, userRef);
  if (found === undefined) return "no_user";
  const { id, read: readUser } = found;
  const epoch = newEpoch(tables.random);
  const wait = waitOncePerVersion(tables);
  return retryOnConflict(async () => {
    const user = await readUser();
    if (user === undefined) return "no_user";
    const former = foldUsername(user.value.name);
    const commit = () => replaceUser(tables, user, { ...user.value, name, epoch });
    if (former === folded) return (await commit())?.value ?? conflict;

    const hints = [nameHint(folded, id), listHint(folded, id), nameHint(former, id), listHint(former, id)];
    const [next, formerName, formerList] = await Promise.all([
      readName(tables, folded),
      readName(tables, former),
      readHint(tables, listHint(former, id)),
      sendNotices(tables, hints),
    ]);
    if (next !== undefined && next.value.id !== id) {
      const released = await releaseName(tables, folded, next, wait);
      if (released === conflict) return conflict;
      if (released !== "free") return "taken";
    }
    const [isWritten] = await Promise.all([
      // Also if it is the user's own already: its version must change, see rule R1.
      writeName(tables, folded, { id, by: epoch }, next?.version),
      writeHint(tables, listHint(folded, id)),
    ]);
    if (!isWritten) return conflict;
    const renamed = await commit();
    if (renamed === undefined) return conflict;
    await finishOrLog(tables.log, () =>
      Promise.all([
        formerName?.value.id === id && removeName(tables, former, formerName),
        formerList && removeHint(tables, listHint(former, id), formerList),
      ]),
    );
    return renamed.value;
  });
}
