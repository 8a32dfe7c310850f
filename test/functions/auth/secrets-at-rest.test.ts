import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { localCredential } from "../../../lib/platform/azure/service-access.ts";
import { openTables, type Row } from "../../../lib/platform/tables/tables.ts";
import { minutes } from "../../../lib/platform/time.ts";
import { keyRing } from "../../../lib/platform/vault/key-ring.ts";
import { openSecrets } from "../../../lib/platform/vault/secrets.ts";
import { cheapHasher } from "../../support/auth/cheap-hashes.ts";
import { hotpKey, yubicoKey } from "../../support/auth/software-key.ts";
import { type MadeUser, type TestAuth, testAuth } from "../../support/auth/test-auth.ts";

const auth = await testAuth();

/** A host whose passwords are peppered from the vault too. */
const pepperedHost = (): TestAuth =>
  auth.anotherInstance({
    ports: ({ random, now, log }) => {
      const secrets = openSecrets({ endpoint: auth.vault.url, credential: localCredential, timeoutMs: 5000 });
      const pepper = keyRing(secrets, "password-pepper", {
        maxAgeMs: minutes(5),
        refreshAfterMs: minutes(1),
        now,
        log,
      });
      return { hasher: cheapHasher({ random, now }, { pepper }) };
    },
  });

/** Makes a new version of a secret, until the test is over. */
function rotate(name: string): void {
  const before = auth.vault.get(name) ?? "";
  auth.vault.set(name, randomBytes(32).toString("base64url"));
  onTestFinished(() => auth.vault.set(name, before));
}

const signsIn = async (on: TestAuth, { name, password }: MadeUser, otp?: string) =>
  (await on.post("/client/authenticate", { username: name, password, ...(otp !== undefined && { otp }) })).body;
const rows = () => openTables({ ...auth.storage, timeoutMs: 15_000 });
const rowOf = async (table: string, partition: string, row: string): Promise<Row> => {
  const found = await rows().table(table).get(partition, row);
  if (found === undefined) throw new Error("there is no such row");
  return found;
};

describe("a rotation", () => {
  it("of the key under which secrets are sealed: what was sealed before and after opens at every host", async () => {
    const [one, other] = [await auth.makeUser(), await auth.makeUser()];
    const [former, later] = [hotpKey(), yubicoKey()];
    await auth.giveKey(one, former);
    expect(await signsIn(auth, one, former.otp(0))).toBe(true);
    rotate("data-encryption-key");
    const next = auth.anotherInstance();
    await next.giveKey(other, later);
    const sealedBy = async (prefix: string) => {
      const [header = ""] = String((await rowOf("otpkeys", prefix, "key")).sealedSecret).split(".");
      return JSON.parse(Buffer.from(header, "base64url").toString()).kid;
    };
    expect(await sealedBy(later.prefix)).not.toBe(await sealedBy(former.prefix));
    expect([await signsIn(next, one, former.otp(1)), await signsIn(auth, other, later.otp(1))]).toEqual([true, true]);
  });

  it("of the pepper: old passwords stay valid, and are hashed again at the next sign-in, which older hosts accept too", async () => {
    const [old, pepperOf] = [pepperedHost(), async (user: MadeUser) => (await find(user)).pepper];
    const find = async ({ id }: MadeUser) => {
      const password = (await auth.context.users.find({ by: "id", id }))?.value.password;
      if (password === undefined) throw new Error("there is no password");
      return password;
    };
    const user = await old.makeUser();
    const before = await pepperOf(user);
    rotate("password-pepper");
    const next = pepperedHost();
    expect(await signsIn(next, { ...user, password: "a wrong one" })).toBe(false);
    expect(await pepperOf(user)).toBe(before);
    await next.logIn(user);
    expect(await pepperOf(user)).not.toBe(before);
    expect([await signsIn(old, user), await signsIn(next, user)]).toEqual([true, true]);
  });
});

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
