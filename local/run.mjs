// Runs a task of package.json on a bare machine: installs the packages if they are missing, and Node 24 if the machine's Node is
// too old. Plain JavaScript, because it must run on Node 20.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ownNode, writeNodeLock } from "./own-node.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [task = "", ...rest] = process.argv.slice(2);

/** Node runs TypeScript without a flag from these versions on; the SDKs need 22. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const newEnough = major >= 24 || (major === 22 && minor >= 18) || (major === 23 && minor >= 6);

const bin = name => join(root, "node_modules", ...name.split("/"));
const steps = {
  start: ["local/start/start.ts"],
  demo: ["local/demo/demo.ts"],
  test: ["local/checks/verify.ts"],
  check: ["local/checks/verify.ts", "--checks"],
  openapi: ["local/generate/openapi.ts"],
  settings: ["local/generate/settings.ts"],
  "api-tokens": ["commands/api-tokens.ts"],
  "check-peers": ["commands/check-peers.ts"],
  "import-otpkeys": ["commands/import-otpkeys.ts"],
  format: [bin("@biomejs/biome/bin/biome"), "check", "--write"],
  build: [bin("typescript/bin/tsc"), "-p", "tsconfig.build.json"],
  package: ["local/package/package.ts"],
  audit: ["local/checks/audit.ts"],
};

/** What the tasks without options do; the other tasks have a help of their own. */
const helpOfTask = {
  openapi: "Writes the OpenAPI documents in docs/openapi/ from the endpoints.",
  settings: "Writes docs/settings.md, docs/states.md, local.settings.sample.json and the lists of settings in infra/.",
  audit:
    "Looks for known vulnerabilities and unusual licences of deployed packages. The exit code is 0 for none, 1 for a finding,\n2 if the registry gives no audit report.",
  build: "Compiles the deployed code to dist/, which `func start` runs.",
};

const step = steps[task];
if (step === undefined) {
  console.error(`Unknown task "${task}". Tasks: ${Object.keys(steps).join(", ")}.`);
  process.exit(2);
}
const help = helpOfTask[task];
if (help !== undefined && rest.length > 0) {
  const isHelp = ["--help", "-h"].includes(rest[0] ?? "");
  if (isHelp) console.log(`${help}\n\nUsage: npm run ${task}`);
  else console.error(`npm run ${task} has no options and no arguments. For help: npm run ${task} -- --help`);
  process.exit(isHelp ? 0 : 2);
}
process.chdir(root);
if (missing().length > 0) {
  try {
    await withLock(install);
  } catch (error) {
    console.error(`Cannot install into ${root}: ${error.message}`);
    process.exit(1);
  }
}
const [script = "", ...fixed] = step;
if (newEnough && script.endsWith(".ts")) {
  hideExperimental();
  stopWithCaller(() => process.kill(process.pid, "SIGTERM"));
  process.argv = [process.execPath, join(root, script), ...fixed, ...rest];
  await import(pathToFileURL(join(root, script)).href);
} else {
  await handOver(nodeToUse(), ["--disable-warning=ExperimentalWarning", script, ...fixed, ...rest]);
}

/** Returns what must be installed: Node, packages. */
function missing() {
  return [
    ...(newEnough || existsSync(nodeToUse() ?? "") ? [] : ["node"]),
    ...(packagesAreCurrent() ? [] : ["packages"]),
  ];
}

/** Returns whether node_modules has the packages of package-lock.json, whether this program installed them or not. */
function packagesAreCurrent() {
  const installed = packagesOf("node_modules/.package-lock.json");
  return Object.entries(packagesOf("package-lock.json")).every(([path, { version, integrity, optional }]) => {
    const found = installed[path];
    // Optional packages are those of other platforms.
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity && existsSync(path);
  });
}

/** Returns the packages of a lock file by their paths; none if there is no such file. */
function packagesOf(lockFile) {
  try {
    const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
    return Object.fromEntries(Object.entries(packages).filter(([path]) => path.startsWith("node_modules/")));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}

async function install() {
  const parts = missing();
  if (parts.includes("node")) {
    const own = writeNodeLock(ownNodeDirectory());
    if (own === undefined) {
      console.error(
        `Node ${process.versions.node} is older than the SDKs need, and npm has no Node 24 for this machine: install it.`,
      );
      process.exit(1);
    }
    console.error(`Node ${process.versions.node} is older than the SDKs need: installing ${own} from npm.`);
    await npm(process.execPath, ["ci", "--prefix", ".node", "--ignore-scripts"]);
  }
  if (parts.includes("packages")) {
    const done = showProgress();
    // Not `npm ci`, which fails if a registry lacks packages of platforms other than this one.
    await npm(nodeToUse(), ["install", "--no-save"]);
    done();
  }
}

/** Shows how many packages are installed, on a terminal as they are. Returns what reports the end. */
function showProgress() {
  const paths = Object.entries(packagesOf("package-lock.json"))
    .filter(([, { optional }]) => optional !== true)
    .map(([path]) => join(path, "package.json"));
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  const { isTTY } = process.stderr;
  console.error(`Installing ${paths.length} packages, which takes about half a minute.`);
  const show = () => {
    const count = paths.filter(path => existsSync(path)).length;
    process.stderr.write(`\r  ${count} of ${paths.length} packages, ${seconds()} `);
  };
  const timer = isTTY ? setInterval(show, 500) : undefined;
  return () => {
    clearInterval(timer);
    console.error(`${isTTY ? "\r" : ""}Installed the packages in ${seconds()}.         `.trimEnd());
  };
}

function nodeToUse() {
  return newEnough ? process.execPath : ownNode(ownNodeDirectory());
}

function ownNodeDirectory() {
  return join(root, ".node");
}

/** Runs npm without its warnings, notices and progress, which a user of this project cannot act on. */
async function npm(withNode, args) {
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier"];
  const cli = process.env.npm_execpath;
  const direct = cli !== undefined && /\.c?js$/.test(cli);
  const path = [dirname(withNode), process.env.PATH].join(process.platform === "win32" ? ";" : ":");
  const options = { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PATH: path } };
  const child = direct
    ? spawn(withNode, [cli, ...args, ...quiet], options)
    : spawn("npm", [...args, ...quiet], { ...options, shell: process.platform === "win32" });
  const code = await new Promise((resolve, reject) => {
    child.once("exit", resolve);
    child.once("error", reject);
  });
  if (code === 0) return;
  console.error(`npm ${args[0]} failed.`);
  process.exit(1);
}

/** Several tasks may start at once in a fresh clone: one of them installs, the others wait. */
async function withLock(work) {
  const lock = join(root, ".node", "install.lock");
  // Not recursive: a recursive `mkdir` reports a read-only disk as a missing directory.
  if (!existsSync(dirname(lock))) mkdirSync(dirname(lock));
  let waits = false;
  while (!taken(lock)) {
    if (abandoned(lock)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!waits) console.error("Waiting for another task, which installs the packages.");
    waits = true;
    await wait(200);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function taken(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Returns whether the process of the lock has ended. Process ids are reused, so an old lock counts as abandoned too. */
function abandoned(lock) {
  try {
    const holder = Number(readFileSync(lock, "utf8"));
    return holder === process.pid || !isAlive(holder) || Date.now() - statSync(lock).mtimeMs > 15 * 60_000;
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Runs the task with another Node, which ends when the channel to this process closes. */
async function handOver(withNode, args) {
  const path = [dirname(withNode), process.env.PATH].join(process.platform === "win32" ? ";" : ":");
  const child = spawn(withNode, args, {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, PATH: path },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  stopWithCaller(() => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
  await new Promise(() => {});
}

/** Hides warnings about experimental features of Node, which a user of this project cannot act on. */
function hideExperimental() {
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name !== "ExperimentalWarning") console.error(`(node:${process.pid}) ${name}: ${message}`);
  });
}

/** Stops the task when npm or its shell has ended: npm passes a signal to its shell only, which ends without passing it on. */
function stopWithCaller(stop) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const npmPid = npmBehind(parent);
  const watch = setInterval(() => {
    if (process.ppid === parent && (npmPid === undefined || isAlive(npmPid))) return;
    clearInterval(watch);
    stop();
  }, 200);
  watch.unref();
}

/** Returns the process id of the npm that started this shell; undefined if the parent is not such a shell, or outside Linux. */
function npmBehind(shell) {
  try {
    const [, flag, command = ""] = readFileSync(`/proc/${shell}/cmdline`, "utf8").split("\0");
    if (flag !== "-c" || !command.includes("local/run.mjs")) return undefined;
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${shell}/status`, "utf8"))?.[1]) || undefined;
  } catch {
    return undefined;
  }
}
