import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type NodeRegistry, nodeRegistry } from "./node-registry.ts";
import { emptyDirectory, endAll } from "./start/start-process.ts";

/** Replaces the whole system: it warns, prints its arguments, and waits for a signal on request. */
const startedTask = `
import { writeFileSync } from "node:fs";
process.emitWarning("of no use", "ExperimentalWarning");
process.emitWarning("of use", "DeprecationWarning");
console.log("started by", process.version, "with", process.argv.slice(2).join(" "));
if (process.argv.includes("--fail")) process.exit(3);
if (process.argv.includes("--wait")) {
  // Ends if the signal never comes.
  const waiting = setTimeout(() => process.exit(9), 100_000);
  process.on("SIGTERM", () => {
    writeFileSync("stopped", "");
    clearTimeout(waiting);
    process.disconnect?.();
  });
}
else process.disconnect?.();
`;

const root = join(import.meta.dirname, "../..");
const platform = `${process.platform}-${process.arch}`;
const table = "local/node-packages.json";
const nodePackages: Readonly<Record<string, { name: string; version: string; integrity: string }>> = JSON.parse(
  readFileSync(join(root, table), "utf8"),
);
let project: string;

/** Makes a project in which the tasks `start` and `test` are replaced. @param files their contents by path, as JSON */
function newProject(files: Readonly<Record<string, object>>): string {
  const directory = emptyDirectory();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  };
  for (const file of ["run.mjs", "tasks.mjs", "install.mjs", "install-lock.mjs", "own-node.mjs", "node-packages.json"])
    write(`local/${file}`, readFileSync(join(root, "local", file), "utf8"));
  for (const task of ["start/start.ts", "checks/verify.ts"]) write(`local/${task}`, startedTask);
  for (const [path, value] of Object.entries(files)) write(path, JSON.stringify(value));
  return directory;
}

beforeAll(() => {
  const scripts = { start: "node local/run.mjs start", other: "node local/run.mjs other" };
  const own = { name: "p", version: "1.0.0", dependencies: { part: "file:part" }, workspaces: ["test"] };
  const { scripts: testScripts } = JSON.parse(readFileSync(join(root, "test/package.json"), "utf8"));
  const tests = { name: "tests", scripts: testScripts, devDependencies: { probe: "file:../probe" } };
  const packages = {
    "": own,
    part: { version: "1.0.0" },
    probe: { version: "1.0.0", dev: true },
    test: tests,
    "node_modules/part": { resolved: "part", link: true },
    "node_modules/probe": { resolved: "probe", link: true },
    "node_modules/tests": { resolved: "test", link: true },
  };
  project = newProject({
    "part/package.json": { name: "part", version: "1.0.0" },
    "probe/package.json": { name: "probe", version: "1.0.0" },
    "test/package.json": tests,
    "package.json": { ...own, type: "module", scripts },
    "package-lock.json": { name: "p", lockfileVersion: 3, packages },
  });
});
afterAll(endAll);

test("says in one sentence that Node 14 is too old", () => {
  // What Node 14 cannot read would be reported by a SyntaxError before: the file has nothing newer than a template text.
  const old = join(project, "old.cjs");
  writeFileSync(old, 'Object.defineProperty(process.versions, "node", { value: "14.21.3" });');
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-r", old, "local/run.mjs", "start"], {
    cwd: project,
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^Node 14\.21\.3 is too old: install Node 20 or later .*\n$/);
});

/** Runs a command in the project. @param path directories to look for commands in, first */
function run(
  command: string,
  args: readonly string[],
  path: readonly string[] = [dirname(process.execPath)],
  more = {},
) {
  const { npm_execpath: _, npm_lifecycle_event: __, ...own } = process.env;
  const env: NodeJS.ProcessEnv = { ...own, ...more };
  const child = spawn(command, args, {
    cwd: project,
    env: { ...env, PATH: [...path, env.PATH].join(delimiter) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  // The task holds the pipes: they close when it has ended, also where npm ended before.
  const ended = once(child, "close").then(([code]) => code as number);
  const started = async () => {
    const over = ended.then(() => Promise.reject(new Error(output)));
    while (!output.includes("started by")) await Promise.race([once(child.stdout, "data"), over]);
    over.catch(() => {});
  };
  return { child, ended, started, output: () => output };
}

const npmStart = (...args: string[]) => run("npm", ["start", "--", ...args]);
/** What the script in package.json runs. npm itself takes longer than that. */
const start = (...args: string[]) => run("node", ["local/run.mjs", "start", ...args]);

/** A Node on this machine that is older than the SDKs need. */
const oldNode = (process.env.PATH ?? "").split(delimiter).find(directory => {
  const { stdout } = spawnSync(join(directory, "node"), ["--version"], { encoding: "utf8" });
  const [, major = "24", minor = "0"] = /^v(\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return Number(major) < 22 || (Number(major) === 22 && Number(minor) < 18);
});

test("two simultaneous starts in a fresh clone install once, and both run", async () => {
  const both = [npmStart("--one"), npmStart("--two")];
  for (const each of both) expect(await each.ended, each.output()).toBe(0);
  const outputs = both.map(({ output }) => output());
  expect(outputs.filter(output => output.includes("Installing 1 packages"))).toHaveLength(1);
  expect(outputs.filter(output => output.includes("Installed the packages in "))).toHaveLength(1);
  expect(outputs.map(output => /with (\S+)/.exec(output)?.[1])).toEqual(["--one", "--two"]);
  expect(existsSync(join(project, "node_modules/part"))).toBe(true);
  expect(existsSync(join(project, "node_modules/probe"))).toBe(false);
  expect(existsSync(join(project, ".node/install.lock"))).toBe(false);
});

test("looks for what the project needs without its workspace, where Node looks for it", async () => {
  const named = (...names: readonly string[]) => Object.fromEntries(names.map(name => [name, "1.0.0"]));
  const version = "1.0.0";
  const peers = { peerDependencies: named("host", "probe"), peerDependenciesMeta: { probe: { optional: true } } };
  const own = {
    "node_modules/host": { version },
    "node_modules/part/node_modules/deep": { version },
    "node_modules/part/node_modules/inner": { version, dependencies: named("deep") },
    "node_modules/part": { version, dependencies: named("inner"), optionalDependencies: named("elsewhere"), ...peers },
  };
  const others = { "node_modules/deep": { version }, "node_modules/probe": { version } };
  const packages = {
    "": { devDependencies: named("part") },
    ...own,
    ...others,
    "node_modules/elsewhere": { optional: true },
  };
  for (const missing of [undefined, ...Object.keys(own)]) {
    const installed = Object.fromEntries(Object.entries(own).filter(([path]) => path !== missing));
    const cwd = newProject({
      ...Object.fromEntries(Object.keys(installed).map(path => [`${path}/package.json`, {}])),
      "package.json": { type: "module" },
      "package-lock.json": { packages },
      "node_modules/.package-lock.json": { packages: installed },
    });
    // An installation fails, because there is no such npm.
    const env = { ...process.env, npm_execpath: join(cwd, "none.cjs") };
    const { status, stderr } = spawnSync(process.execPath, ["local/run.mjs", "start"], { cwd, env, encoding: "utf8" });
    expect(status, stderr).toBe(missing === undefined ? 0 : 1);
    expect(stderr.includes("Installing 4 packages"), `${missing} is missing`).toBe(missing !== undefined);
  }
});

describe("if everything is installed", () => {
  test("installs nothing again, and shows only useful warnings", async () => {
    const again = start();
    expect(await again.ended).toBe(0);
    expect(again.output()).not.toContain("Installing");
    expect(again.output()).toContain("DeprecationWarning: of use");
    expect(again.output()).not.toContain("ExperimentalWarning");
  });

  test.each(["openapi", "settings", "audit", "build", "format"])(
    "npm run %s has a help and refuses arguments",
    async task => {
      const help = run("node", ["local/run.mjs", task, "--help"]);
      expect(await help.ended).toBe(0);
      expect(help.output()).toContain(`Usage: npm run ${task}\n`);
      const refused = run("node", ["local/run.mjs", task, "now"]);
      expect(await refused.ended).toBe(2);
      expect(refused.output()).toContain(`For help: npm run ${task} -- --help\n`);
    },
  );

  test("does not install again what npm has installed, and replaces outdated packages", async () => {
    rmSync(join(project, "node_modules"), { recursive: true });
    const npm = run("npm", ["install", "--no-audit"]);
    expect(await npm.ended, npm.output()).toBe(0);
    const current = start();
    expect(await current.ended).toBe(0);
    expect(current.output()).not.toContain("Installing");
    const record = join(project, "node_modules/.package-lock.json");
    writeFileSync(record, readFileSync(record, "utf8").replace('"link": true', '"version": "0.9.0"'));
    const outdated = start();
    expect(await outdated.ended).toBe(0);
    expect(outdated.output()).toContain("Installing 3 packages");
    expect(existsSync(join(project, "node_modules/probe"))).toBe(true);
  });

  test("installs what only tests need with the first test", async () => {
    rmSync(join(project, "node_modules"), { recursive: true });
    for (const [task, installed] of [
      ["start", 1],
      ["test", 3],
      ["start", 0],
      ["test", 0],
    ] as const) {
      const ran = run("node", ["local/run.mjs", task]);
      expect(await ran.ended, ran.output()).toBe(0);
      expect(Number(/Installing (\d+) packages/.exec(ran.output())?.[1] ?? 0), task).toBe(installed);
    }
  });

  test("names an unknown task", async () => {
    const other = run("npm", ["run", "other"]);
    expect(await other.ended).toBe(2);
    expect(other.output()).toContain('Unknown task "other". Tasks: start, demo, test');
  });

  // Only /proc shows that npm has ended.
  const signals = process.platform === "linux" ? (["SIGTERM", "SIGKILL"] as const) : (["SIGTERM"] as const);

  test.each(signals)("stops the task on %s to npm", async signal => {
    const waiting = npmStart("--wait");
    await waiting.started();
    const stopped = join(project, "stopped");
    expect(existsSync(stopped)).toBe(false);
    waiting.child.kill(signal);
    await waiting.ended;
    expect(existsSync(stopped)).toBe(true);
    rmSync(stopped);
  });

  test("ignores the lock of a process that has ended", async () => {
    rmSync(join(project, "node_modules/part"));
    const gone = spawn(process.execPath, ["-e", ""]);
    await once(gone, "exit");
    writeFileSync(join(project, ".node/install.lock"), String(gone.pid));
    const next = start();
    expect(await next.ended).toBe(0);
    expect(next.output()).toContain("Installing 3 packages");
  });

  describe.runIf(oldNode)("an old Node", () => {
    let registry: NodeRegistry;
    beforeAll(async () => {
      registry = await nodeRegistry(emptyDirectory());
    });
    afterAll(() => registry.close());

    /** Pins the package of this platform to an integrity. */
    const pin = (integrity: string) => {
      const { name, version } = registry;
      writeFileSync(join(project, table), JSON.stringify({ [platform]: { name, version, integrity } }));
    };
    const startByOld = () => run("node", ["local/run.mjs", "start"], [oldNode ?? ""], registry.environment);
    afterEach(() => {
      rmSync(join(project, ".node"), { recursive: true, force: true });
      copyFileSync(join(root, table), join(project, table));
    });

    test("does not install or run a Node whose content is not the pinned one", async () => {
      pin(`sha512-${createHash("sha512").update("another").digest("base64")}`);
      const refused = startByOld();
      expect(await refused.ended).toBe(1);
      expect(refused.output()).toContain("EINTEGRITY");
      expect(refused.output()).not.toContain("started by");
      expect(existsSync(join(project, ".node/node_modules", registry.name))).toBe(false);
    });

    test("installs the pinned Node once, and again where another one is installed", async () => {
      pin(registry.integrity);
      const record = join(project, ".node/node_modules/.package-lock.json");
      for (const expected of ["installing", "started by", "installing"]) {
        const started = startByOld();
        expect(await started.ended, started.output()).toBe(0);
        expect(started.output()).toContain(`started by ${process.version}`);
        expect(started.output().includes("installing")).toBe(expected === "installing");
        if (expected === "started by")
          writeFileSync(record, readFileSync(record, "utf8").replaceAll(registry.version, "24.0.1"));
      }
    });

    test("names a version and a sha512 for each platform", () => {
      expect(Object.keys(nodePackages)).toContain(platform);
      for (const { version, integrity } of Object.values(nodePackages)) {
        expect(version).toMatch(/^24\.\d+\.\d+$/);
        expect(Buffer.from(integrity.replace(/^sha512-/, ""), "base64")).toHaveLength(64);
      }
    });
  });

  test.runIf(oldNode)(
    "runs the task with the Node from npm if the own one is too old, and passes on signals and exit code",
    async () => {
      const pinned = nodePackages[platform];
      if (pinned === undefined) throw new Error(`there is no Node for ${platform}`);
      const own = join(project, ".node/node_modules", pinned.name, "bin");
      mkdirSync(own, { recursive: true });
      symlinkSync(process.execPath, join(own, "node"));
      writeFileSync(
        join(project, ".node/node_modules/.package-lock.json"),
        JSON.stringify({ packages: { [`node_modules/${pinned.name}`]: pinned } }),
      );
      const handed = run("npm", ["start", "--", "--wait"], [oldNode ?? ""]);
      await handed.started();
      expect(handed.output()).toContain(`started by ${process.version} with --wait`);
      handed.child.kill("SIGTERM");
      await handed.ended;
      expect(handed.output()).toContain("DeprecationWarning");
      expect(handed.output()).not.toContain("ExperimentalWarning");
      expect(existsSync(join(project, "stopped"))).toBe(true);
      expect(await run("node", ["local/run.mjs", "start", "--fail"], [oldNode ?? ""]).ended).toBe(3);
    },
  );
});
