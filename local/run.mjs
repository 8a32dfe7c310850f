// Starts a task of package.json on a bare machine: installs what is missing, brings Node 24 where the machine's Node is too old,
// then runs the task. Plain JavaScript on purpose: it must run on Node 20.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setTimeout as wait } from "node:timers/promises";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [task = "", ...rest] = process.argv.slice(2);

/** The least Node that runs TypeScript without a flag; the SDKs want 22. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const newEnough = major >= 24 || (major === 22 && minor >= 18) || (major === 23 && minor >= 6);

const bin = name => join(root, "node_modules", ...name.split("/"));
const steps = {
  start: ["local/start.ts"],
  demo: ["local/demo.ts"],
  test: ["local/verify.ts"],
  check: ["local/verify.ts", "--checks"],
  openapi: ["local/openapi.ts"],
  settings: ["local/settings-docs.ts"],
  format: [bin("@biomejs/biome/bin/biome"), "check", "--write"],
  build: [bin("typescript/bin/tsc"), "-p", "tsconfig.build.json"],
};

const step = steps[task];
if (step === undefined) {
  console.error(`Unknown task "${task}". Tasks: ${Object.keys(steps).join(", ")}.`);
  process.exit(2);
}
process.chdir(root);
await withLock(install);
const node = newEnough ? process.execPath : ownNode();
const [script = "", ...fixed] = step;
if (newEnough && script.endsWith(".ts")) {
  process.argv = [node, join(root, script), ...fixed, ...rest];
  await import(pathToFileURL(join(root, script)).href);
} else {
  await handOver(node, [script, ...fixed, ...rest]);
}

function install() {
  if (!newEnough && !existsSync(ownNode())) {
    const platform = process.platform === "win32" ? "win" : process.platform;
    console.error(`Node ${process.versions.node} is older than the SDKs need: bringing Node 24 from npm.`);
    npm(process.execPath, ["install", "--prefix", ".node", "--no-save", "--no-package-lock", `node-${platform}-${process.arch}@24`]);
  }
  const wanted = createHash("sha256").update(readFileSync("package-lock.json")).digest("hex");
  const marker = join("node_modules", ".installed");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  console.error("Installing packages.");
  // Not `npm ci`: it fails where a registry lacks packages of platforms other than this one.
  npm(newEnough ? process.execPath : ownNode(), ["install", "--no-save", "--no-audit", "--no-fund"]);
  writeFileSync(marker, wanted);
}

function ownNode() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = process.platform === "win32" ? "node.exe" : "node";
  return join(root, ".node", "node_modules", `node-${platform}-${process.arch}`, "bin", name);
}

function npm(withNode, args) {
  const cli = process.env["npm_execpath"];
  const direct = cli !== undefined && /\.c?js$/.test(cli);
  const path = [dirname(withNode), process.env["PATH"]].join(process.platform === "win32" ? ";" : ":");
  const options = { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PATH: path } };
  const { status } = direct ? spawnSync(withNode, [cli, ...args], options) : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (status !== 0) {
    console.error(`npm ${args[0]} failed.`);
    process.exit(1);
  }
}

/** Several systems may be started at once in one fresh clone: one of them installs. */
async function withLock(work) {
  const lock = join(root, ".node", "install.lock");
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch {
      if (!alive(lock)) rmSync(lock, { force: true });
      else await wait(200);
    }
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function alive(lock) {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Runs the task by another Node. The channel tells it when this process is gone. */
async function handOver(withNode, args) {
  const env = { ...process.env, PATH: [dirname(withNode), process.env["PATH"]].join(process.platform === "win32" ? ";" : ":") };
  const child = spawn(withNode, args, { stdio: ["inherit", "inherit", "inherit", "ipc"], env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
  await new Promise(() => {});
}
