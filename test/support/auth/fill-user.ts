import { maxAssignedKeys } from "../../../lib/auth/store.ts";
import { idKey } from "../../../lib/auth/tables.table.ts";
import type { TestAuth } from "./test-auth.ts";

/** Gives a user all OTP keys that a user can have but `free`. None of them exists. */
export async function fillUser(
  { deployment }: TestAuth,
  { id }: { readonly id: number },
  { free }: { readonly free: number },
): Promise<void> {
  const users = deployment.tables.table("users");
  const row = { partitionKey: idKey(id), rowKey: "user" };
  const held = Array.from({ length: maxAssignedKeys - free }, (_, n) => ({ prefix: `full${n}`, id: n + 1 }));
  const { etag = "" } = (await users.get(row.partitionKey, row.rowKey)) ?? {};
  await users.merge({ ...row, otpkeys: JSON.stringify(held) }, etag);
}
