import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { startAuthHost } from "../support/auth/host.ts";
import { compileCache } from "../support/host/compile-cache.ts";

const auth = await startAuthHost();

const tokens = (token: string, ...args: readonly string[]) => tokensAt(auth.coreUrl, token, ...args);

async function tokensAt(url: string, token: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, ["commands/api-tokens.ts", ...args, "--url", url], {
    env: { PATH: process.env.PATH, ...compileCache, API_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], out, error] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  return { code: code as number, out, error };
}

describe("the command for static API tokens", () => {
  it("creates one, which is shown once, lists and revokes it", async () => {
    const made = await tokens(
      auth.tenantToken,
      "create",
      "import of spring",
      "--expires",
      "2096-01-01T00:00:00Z",
      "--role",
      "admin",
    );
    expect(made.code).toBe(0);
    const token = made.out.trim();
    expect(token).toMatch(/^core_[0-9a-f]{8}_[\w-]{43}$/);
    expect(made.error).not.toContain(token);

    const [, id = ""] = token.split("_");
    const listed = await tokens(token, "list");
    // The list itself is the first use of the token, which is recorded in the background.
    expect(listed.out).toMatch(/^ID +CREATED +EXPIRES +ROLE +LAST USED +NAME$/m);
    const line = `^${id} +\\S+Z +2096-01-01T00:00:00.000Z +admin +(never|\\d{4}-\\d\\d-\\d\\d) +import of spring$`;
    expect(listed.out).toMatch(new RegExp(line, "m"));
    expect(listed.out).not.toContain(token);

    expect(await tokens(auth.tenantToken, "revoke", id)).toMatchObject({ code: 0, out: "" });
    expect((await tokens(auth.tenantToken, "list")).out).not.toContain(id);
    expect(await tokens(auth.tenantToken, "revoke", id)).toMatchObject({
      code: 3,
      error: expect.stringContaining("404"),
    });
  });

  it("prints why Core refuses", async () => {
    expect(await tokens(auth.token, "list")).toMatchObject({ code: 0 });
    expect(await tokens(auth.token, "create", "more")).toMatchObject({
      code: 1,
      error: expect.stringContaining("403"),
    });
    expect(await tokens(auth.otherToken, "list")).toMatchObject({ code: 1, error: expect.stringContaining("403") });
    expect(await tokens("two words", "list")).toMatchObject({ code: 1, out: "" });
  });

  it("creates tokens with the roles of the connector, and none with a role of Core only", async () => {
    const connector = (...args: readonly string[]) => tokensAt(auth.connectorUrl, auth.tenantToken, ...args);
    const before = (await connector("list")).out;
    expect(await connector("create", "reader", "--role", "admin")).toMatchObject({
      code: 1,
      out: "",
      error: expect.stringContaining("--role must be one of read, support, call"),
    });
    expect((await connector("list")).out).toBe(before);
    expect(await connector("create", "desk", "--role", "support")).toMatchObject({ code: 0 });
    expect((await connector("list")).out).toMatch(/ support +never +desk$/m);
    expect(await connector("create", "orders")).toMatchObject({ code: 0, out: expect.stringMatching(/^connector_/) });
  });
});
