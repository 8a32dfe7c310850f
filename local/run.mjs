// Starts a task of package.json on a bare machine: installs what is missing, brings Node 24 where the machine's Node is too old,
// then runs the task. Plain JavaScript on purpose: it must run on Node 20.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ownNode, writeNodeLock } from "./own-node.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [task = "", ...rest] = process.argv.slice(2);

/** The least Node that runs TypeScript without a flag; the SDKs want 22. */
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

const step = steps[task];
if (step === undefined) {
  console.error(`Unknown task "${task}". Tasks: ${Object.keys(steps).join(", ")}.`);
  process.exit(2);
}
process.chdir(root);
if (missing().length > 0) await withLock(install);
const [script = "", ...fixed] = step;
if (newEnough && script.endsWith(".ts")) {
  hideExperimental();
  stopWithCaller(() => process.kill(process.pid, "SIGTERM"));
  process.argv = [process.execPath, join(root, script), ...fixed, ...rest];
  await import(pathToFileURL(join(root, script)).href);
} else {
  await handOver(nodeToUse(), ["--disable-warning=ExperimentalWarning", script, ...fixed, ...rest]);
}

/** What is to be installed: Node, packages. */
function missing() {
  const wanted = lockHash();
  const marker = installedMarker();
  return [
    ...(newEnough || existsSync(nodeToUse() ?? "") ? [] : ["node"]),
    ...(existsSync(marker) && readFileSync(marker, "utf8") === wanted ? [] : ["packages"]),
  ];
}

function install() {
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
    npm(process.execPath, ["ci", "--prefix", ".node", "--ignore-scripts", "--no-audit", "--no-fund"]);
  }
  if (parts.includes("packages")) {
    console.error("Installing packages.");
    // Not `npm ci`: it fails where a registry lacks packages of platforms other than this one.
    npm(nodeToUse(), ["install", "--no-save", "--no-audit", "--no-fund"]);
    writeFileSync(installedMarker(), lockHash());
  }
}

function lockHash() {
  return createHash("sha256").update(readFileSync("package-lock.json")).digest("hex");
}

function installedMarker() {
  return join("node_modules", ".installed");
}

function nodeToUse() {
  return newEnough ? process.execPath : ownNode(ownNodeDirectory());
}

function ownNodeDirectory() {
  return join(root, ".node");
}

function npm(withNode, args) {
  const cli = process.env.npm_execpath;
  const direct = cli !== undefined && /\.c?js$/.test(cli);
  const path = [dirname(withNode), process.env.PATH].join(process.platform === "win32" ? ";" : ":");
  const options = { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PATH: path } };
  const { status } = direct
    ? spawnSync(withNode, [cli, ...args], options)
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (status !== 0) {
    console.error(`npm ${args[0]} failed.`);
    process.exit(1);
  }
}

/** Several systems may be started at once in one fresh clone: one of them installs. */
async function withLock(work) {
  const lock = join(root, ".node", "install.lock");
  mkdirSync(dirname(lock), { recursive: true });
  while (!taken(lock)) {
    if (abandoned(lock)) rmSync(lock, { force: true });
    else await wait(200);
  }
  try {
    work();
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

/** Its holder died of something. Process ids come again, so a very old lock counts as abandoned too. */
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

/** Runs the task by another Node. The channel tells it when this process is gone. */
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

/** What Node says of its own features is nothing that a user of this project could act on. */
function hideExperimental() {
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name !== "ExperimentalWarning") console.error(`(node:${process.pid}) ${name}: ${message}`);
  });
}

/** npm passes a signal on to its shell, which dies of it and tells nobody: who has lost either stops as if told to. */
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

/** The npm that waits for this shell; undefined where the parent is no such shell, or the system does not tell. */
function npmBehind(shell) {
  try {
    const [, flag, command = ""] = readFileSync(`/proc/${shell}/cmdline`, "utf8").split("\0");
    if (flag !== "-c" || !command.includes("local/run.mjs")) return undefined;
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${shell}/status`, "utf8"))?.[1]) || undefined;
  } catch {
    return undefined;
  }
}
