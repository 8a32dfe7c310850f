import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { readArguments } from "../../commands/read-arguments.ts";
import { compileCache } from "../support/host/compile-cache.ts";

const scripts: Readonly<Record<string, string>> = {
  "api-tokens": "commands/api-tokens.ts",
  "check-peers": "commands/check-peers.ts",
  "import-otpkeys": "commands/import-otpkeys.ts",
  "import-users": "commands/import-users.ts",
  users: "commands/users.ts",
  requests: "commands/requests.ts",
  console: "commands/console.ts",
  demo: "local/demo/demo.ts",
  package: "local/package/package.ts",
};

/** Runs a command without any environment of its own. */
const run = (name: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [scripts[name] ?? "", ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, ...compileCache },
  });

describe.each(Object.keys(scripts))("npm run %s", { timeout: 60_000 }, name => {
  test("has a help, and refuses an unknown option with a pointer to it", () => {
    const help = run(name, "--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^Usage: .*npm run ${name}\\b`, "m"));
    expect(help.stdout.split("\n").filter(line => line.length > 120)).toEqual([]);
    const refused = run(name, "--nonsense");
    expect(refused).toMatchObject({
      stdout: "",
      stderr: `Unknown option '--nonsense'. For help: npm run ${name} -- --help\n`,
    });
    expect(refused.status).toBeGreaterThan(0);
  });
});

test.each([
  [[], "The action must be one of create, list, revoke."],
  [["create"], "create needs one argument."],
  [["list"], "--url is missing."],
  [["list", "--url", "http://127.0.0.1:9"], "API_TOKEN is not set."],
])("api-tokens %j says what is missing", (args, problem) => {
  const { status, stderr } = run("api-tokens", ...args);
  expect({ status, stderr }).toEqual({ status: 2, stderr: `${problem} For help: npm run api-tokens -- --help\n` });
});

test.each([
  ["requests revoke an-id s-01-001 --dry-run", "dry-run"],
  ["requests revoke an-id --user ada", "user"],
  ["users reset carol --hours 5", "hours"],
  ["api-tokens revoke an-id --role read", "role"],
])("%s is refused before a call, because the action has no such option", (line, option) => {
  const [name = "", ...args] = line.split(" ");
  const { status, stderr } = run(name, ...args, "--url", "http://127.0.0.1:9");
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: `--${option} is not an option of ${args[0]}. For help: npm run ${name} -- --help\n`,
  });
});

test.each([["api-tokens", "list"], ["check-peers"]])(
  "%s says that another service is at the address",
  async (name, ...args) => {
    const server = createServer((_, response) => response.end("<html>Welcome</html>")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const child = spawn(process.execPath, [scripts[name] ?? "", ...args, "--url", url], {
      env: { PATH: process.env.PATH, ...compileCache, API_TOKEN: "token", FUNCTIONS_KEY: "key" },
    });
    const [error] = await Promise.all([text(child.stderr), once(child, "close")]);
    server.close();
    expect(error).toBe(`Another service responds at ${url}: check the address.\n`);
  },
);

test("an option that is nearly right is named", () => {
  const command = { name: "npm run it", help: "", options: { "dry-run": { type: "boolean" } } } as const;
  expect(() => readArguments(command, ["--dryrun"])).toThrow(
    "Unknown option '--dryrun' (did you mean --dry-run?). For help: npm run it -- --help",
  );
});
