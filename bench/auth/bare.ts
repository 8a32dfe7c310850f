import { createHash, randomBytes } from "node:crypto";
import { odata, TableClient } from "@azure/data-tables";
import { app, type HttpRequest, type HttpResponseInit } from "@azure/functions";
import { hash, verify } from "@node-rs/argon2";
import { secretContext, secretToText } from "../../lib/auth/otpkeys/kinds/key-secret.ts";
import { defaultCost } from "../../lib/auth/passwords/password-hash.ts";
import { sessionPartition } from "../../lib/auth/sessions/sessions.table.ts";
import { createSealer } from "../../lib/platform/crypto.ts";
import { password } from "./password.ts";

/**
 * What the endpoints are measured against: functions of the same host that make the same storage calls by hand, and nothing
 * else. Rows that they write are written back as they were read.
 */
export async function registerBare(connectionString: string): Promise<void> {
  const table = (name: string) =>
    TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });
  const [users, names, throttles] = [table("users"), table("names"), table("throttles")];
  const [sessions, otpkeys] = [table("sessions"), table("otpkeys")];
  const stored = await hash(password, defaultCost);
  const http = (name: string, handler: (request: HttpRequest) => Promise<HttpResponseInit>) =>
    app.http(`bare-${name}`, { route: `bare/${name}`, methods: ["GET", "POST"], authLevel: "anonymous", handler });

  http("status", async request => {
    const value = request.headers.get("x-service-session") ?? "";
    const bytes = Buffer.from(value, "base64url");
    const hour = new Date(bytes.readUInt32BE(1) * 3_600_000).toISOString().slice(0, 13);
    const [session, user] = await Promise.all([
      sessions.getEntity(sessionPartition({ hour, hash: sha256(value) }), sha256(value)),
      users.getEntity(idKey(bytes.readBigUInt64BE(5)), "user"),
    ]);
    return { jsonBody: { username: user.name, user_id: Number(user.partitionKey), _creation_time: session.createdAt } };
  });

  /** Reads the id to which a name leads. */
  const idOf = async (name: string) => idKey((await names.getEntity<{ id: bigint }>(sha256(name), "name")).id);
  const userOf = async (name: string) => users.getEntity(await idOf(name), "user");

  http("user", async request => {
    const id = await idOf(request.query.get("username") ?? "");
    const { value: rows = [] } = await users
      .listEntities({ queryOptions: { filter: odata`PartitionKey eq ${id}` } })
      .byPage()
      .next();
    return { jsonBody: rows.map((row: { name?: string }) => row.name) };
  });

  const sealing = { version: "1", key: new Uint8Array(32) };
  const sealer = createSealer({ current: async () => sealing, candidates: async () => [sealing.key] });
  const context = secretContext("prefix");
  const secret = { secret: new Uint8Array(16), privateId: new Uint8Array(6) };
  const sealed = await sealer.seal(secretToText(secret), context);
  http("validate", async request => {
    const form = new URLSearchParams(await request.text());
    const [, key] = await Promise.all([
      userOf(request.query.get("username") ?? ""),
      otpkeys.getEntity<Record<string, unknown>>((form.get("otp") ?? "").slice(0, -32), "key"),
    ]);
    await sealer.open(sealed, context);
    await otpkeys.updateEntity(key as Required<typeof key>, "Replace", { etag: key.etag });
    return { jsonBody: { valid_password: false, valid_otp: true } };
  });

  /** Reads a throttle of its own, because those of the service lie under keyed hashes. The first call creates it. */
  const throttleOf = async (handle: string) => {
    const key = { partitionKey: `bare-${handle}`, rowKey: "throttle" };
    const read = () => throttles.getEntity<{ value: string }>(key.partitionKey, key.rowKey);
    return read().catch(async () => {
      await throttles.createEntity({ ...key, value: "{}" }).catch(() => {});
      return read();
    });
  };

  /** A user without an OTP key costs a read that finds none (decision A5). */
  const noKey = (handle: string) =>
    otpkeys.getEntity(handle, "key").then(
      () => undefined,
      () => undefined,
    );

  /** @param begins whether a session is stored beside the last write */
  const check = async (request: HttpRequest, begins: boolean) => {
    const form = new URLSearchParams(await request.text());
    const name = form.get("username") ?? "";
    const handle = sha256(name);
    const [id, throttle] = await Promise.all([idOf(name), throttleOf(handle)]);
    const otp = form.get("otp");
    const [reserved, , key] = await Promise.all([
      throttles.updateEntity(throttle as Required<typeof throttle>, "Replace", { etag: throttle.etag }),
      users.getEntity(id, "user"),
      otp === null ? undefined : otpkeys.getEntity<Record<string, unknown>>(otp.slice(0, -6), "key"),
    ]);
    const [granted] = await Promise.all([verify(stored, form.get("password") ?? ""), otp === null && noKey(handle)]);
    if (key !== undefined) await otpkeys.updateEntity(key as Required<typeof key>, "Replace", { etag: key.etag });
    await Promise.all([
      throttles.updateEntity(throttle as Required<typeof throttle>, "Replace", { etag: reserved.etag ?? "" }),
      users.updateEntity({ partitionKey: id, rowKey: "login", at: new Date().toISOString() }, "Merge", { etag: "*" }),
      begins &&
        sessions.createEntity({ partitionKey: "bare", rowKey: randomBytes(32).toString("base64url"), ...session }),
    ]);
    return granted;
  };
  http("authenticate", async request => ({ jsonBody: await check(request, false) }));
  http("login", async request => ({ jsonBody: { session: await check(request, true) } }));
}

/** As large as a session. */
const session = {
  schema: 1,
  userId: { type: "Int64", value: "114879073635561" },
  epoch: 1,
  createdAt: "2031-01-01T00:00:00.000Z",
  accessedAt: "2031-01-01T00:00:00.000Z",
  expiresAt: "2031-01-02T00:00:00.000Z",
};

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("base64url");

const idKey = (id: bigint | number): string => String(id).padStart(16, "0");
