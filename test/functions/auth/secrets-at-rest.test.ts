import { describe, expect, it } from "vitest";
import { openTables, type Row } from "../../../lib/platform/azure/tables.ts";
import { hotpKey } from "../../support/auth/software-key.ts";
import { type MadeUser, type TestAuth, testAuth } from "../../support/auth/test-auth.ts";

const auth = await testAuth();

const signsIn = async (on: TestAuth, { name, password }: MadeUser, otp?: string) =>
  (await on.post("/client/authenticate", { username: name, password, ...(otp !== undefined && { otp }) })).body;
const rows = () => openTables({ ...auth.storage, timeoutMs: 15_000 });
const rowOf = async (table: string, partition: string, row: string): Promise<Row> => {
  const found = await rows().table(table).get(partition, row);
  if (found === undefined) throw new Error("there is no such row");
  return found;
};

describe("a row that an attacker changed in storage", () => {
  it("a secret that was moved to another key opens nowhere: its OTPs do not pass there", async () => {
    const [owner, thief] = [await auth.makeUser(), await auth.makeUser()];
    const [own, stolen] = [hotpKey(), hotpKey()];
    await auth.giveKey(owner, stolen);
    await auth.giveKey(thief, own);
    const { sealedSecret } = await rowOf("otpkeys", stolen.prefix, "key");
    const { etag } = await rowOf("otpkeys", own.prefix, "key");
    const moved = { partitionKey: own.prefix, rowKey: "key", sealedSecret: String(sealedSecret) };
    await rows().table("otpkeys").merge(moved, etag);
    const otp = stolen.otp(0).replace(stolen.prefix, own.prefix);
    const { status, body } = await auth.post("/client/login", { ...thief.credentials, otp });
    expect({ status, body }).toEqual({ status: 500, body: { error: "Internal error." } });
    expect(await signsIn(auth, owner, stolen.otp(0))).toBe(true);
  });

  it("a password hash that was moved to another user is wrong there", async () => {
    const [owner, thief] = [await auth.makeUser(), await auth.makeUser()];
    const partition = ({ id }: MadeUser) => String(id).padStart(16, "0");
    const { password } = await rowOf("users", partition(thief), "user");
    const { etag } = await rowOf("users", partition(owner), "user");
    const moved = { partitionKey: partition(owner), rowKey: "user", password: String(password) };
    await rows().table("users").merge(moved, etag);
    expect(await signsIn(auth, { ...owner, password: thief.password })).toBe(false);
    expect(await signsIn(auth, thief)).toBe(true);
  });
});
