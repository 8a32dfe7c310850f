// Files, folders and functions of lib and functions that one call runs, by the precise coverage of V8. See README.md.
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { closePeers, startPeers } from "../local/peers/all.ts";
import { startStorage } from "../local/peers/storage/storage.ts";
import { describeSystem } from "../local/start/system.ts";
import { hotpCode } from "../test/lib/auth/otpkeys/kinds/codes.ts";
import { caller, type Request, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";
import type { CallPath, Command } from "./call-path/host.ts";
import { orderBody } from "./connector/orders.ts";

const { values } = parseArgs({
  options: {
    /** Prints the files of the call whose name contains this. */
    files: { type: "string" },
  },
});

const storage = await startStorage();
const peers = await startPeers();
const { settings, tokens } = await describeSystem(storage, peers);
const host = fork(fileURLToPath(new URL("./call-path/host.ts", import.meta.url)), {
  env: { ...process.env, ...settings },
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});
const ask = async <T>(command: Command): Promise<T> => {
  host.send(command);
  const [answer] = await once(host, "message");
  return answer as T;
};
const [{ url }] = (await once(host, "message")) as [{ url: string }];
const { send, close } = caller(url);

const call = async (path: string, request: Request): Promise<string> => {
  const { status, text } = await send(path, request);
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
  return text;
};
const core = { authorization: `Bearer ${tokens.core}` };
const connector = { authorization: `Bearer ${tokens.connector}` };
const secret = randomBytes(20);
let counter = 0;
let renamed = 0;

await call("/core/users", { method: "POST", headers: core, form: { username: "ada", password } });
await call("/core/otpkeys", {
  method: "POST",
  headers: core,
  form: { prefix: "key1", kind: "hotp", secret: secret.toString("hex") },
});
await call("/core/users/ada/otpkeys", { method: "POST", headers: core, form: { otpkey: "key1" } });
await call("/core/users", { method: "POST", headers: core, form: { username: "bob0", password } });

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  "login with OTP": () =>
    call("/client/login", {
      method: "POST",
      form: { username: "ada", password, otp: `key1${hotpCode(secret, counter++)}` },
    }),
  "create of a credential request": () =>
    call("/v2/credential-requests", { method: "POST", headers: connector, json: orderBody(1, 1) }),
  "rename of a user": () =>
    call(`/core/users/bob${renamed}/rename`, { method: "POST", headers: core, form: { username: `bob${++renamed}` } }),
};

const rows: string[][] = [["one call", "files", "folders", "functions"]];
for (const [call, make] of Object.entries(calls)) {
  // The first call of its kind also reads secrets and makes schemas, which later calls reuse.
  for (const which of ["first", "later"]) await measure(`${call}, ${which}`, make);
}
console.log(table(rows));

close();
const exited = once(host, "exit");
host.send("stop" satisfies Command);
await exited;
await closePeers(peers);
await storage.close();

async function measure(name: string, make: () => Promise<unknown>): Promise<void> {
  await ask("start");
  await make();
  const path = await ask<CallPath>("take");
  const files = Object.keys(path);
  const folders = new Set(files.map(file => file.replace(/\/[^/]*$/, "")));
  const functions = Object.values(path).reduce((sum, count) => sum + count, 0);
  rows.push([name, String(files.length), String(folders.size), String(functions)]);
  if (values.files !== undefined && name.includes(values.files)) {
    for (const file of files.sort()) console.log(`${String(path[file]).padStart(4)} ${file}`);
  }
}
