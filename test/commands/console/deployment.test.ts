import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { call } from "../../local/host/http/raw-request.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { compileCache } from "../../support/host/compile-cache.ts";

/** A deployment as its operator sees it: two addresses, and no access to peers, storage or the host. */
const auth = await startAuthHost();
const children: ChildProcess[] = [];

/** Starts the console as an operator does. Returns the address that it prints. */
async function startConsole(core: string, connector: string): Promise<string> {
  const child = spawn(
    process.execPath,
    ["commands/console.ts", "--core", auth.coreUrl, "--connector", auth.connectorUrl],
    {
      env: { PATH: process.env.PATH, ...compileCache, CORE_TOKEN: core, CONNECTOR_TOKEN: connector },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  children.push(child);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return /^Console: (\S+)$/.exec(line)?.[1] ?? "";
}

afterAll(() => {
  for (const child of children) child.kill();
});

test("the console refuses a call without the secret of its address, and what is no API", async () => {
  const address = await startConsole(auth.token, auth.otherToken);
  const { host, port, hash } = new URL(address);
  const get = (path: string, headers: Readonly<Record<string, string>>) =>
    call({ port: Number(port) }, path, { method: "GET", headers: { host, ...headers } });
  const secret = hash.replace("#key=", "");
  expect((await get("/api/facts", { "x-console": secret })).status).toBe(200);
  for (const wrong of ["1", "", secret.slice(1), secret.toLowerCase()])
    expect((await get("/api/facts", { "x-console": wrong })).status, wrong).toBe(403);
  for (const path of [
    "tokens",
    "host/maintenance/auth/back-up",
    "host/admin/functions/x",
    "host/api-tokens",
    "peers/mail/mails",
  ])
    expect((await get(`/api/${path}`, { "x-console": secret })).status, path).toBe(404);
  for (const text of [(await get("/api/facts", { "x-console": secret })).text, (await get("/", {})).text])
    for (const token of [auth.token, auth.otherToken, secret]) expect(text).not.toContain(token);
});
