// Runs a task of package.json on a bare machine: installs the packages if they are missing, and Node 24 if the machine's Node is
// too old. Plain JavaScript, because it must run on Node 20.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { installMissing, newEnough, nodeToUse } from "./install.mjs";
import { isAlive } from "./install-lock.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [task = "", ...rest] = process.argv.slice(2);

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
  "import-users": ["commands/import-users.ts"],
  users: ["commands/users.ts"],
  requests: ["commands/requests.ts"],
  console: ["commands/console.ts"],
  format: [bin("@biomejs/biome/bin/biome"), "check", "--write"],
  build: [bin("typescript/bin/tsc"), "-p", "tsconfig.build.json"],
  package: ["local/package/package.ts"],
  audit: ["local/checks/audit.ts"],
  // No task of package.json: the hooks of azd run it.
  "check-settings": ["local/deploy/check-settings.ts"],
};

/** What the tasks without options do; the other tasks have a help of their own. */
const helpOfTask = {
  openapi:
    "Writes the OpenAPI documents in docs/openapi/ from the endpoints, and docs/asyncapi.json from the schemas of events.",
  settings: "Writes docs/settings.md, local.settings.sample.json and the lists of settings in infra/.",
  audit:
    "Looks for known vulnerabilities and unusual licences of deployed packages. The exit code is 0 for none, 1 for a finding,\n2 if the registry gives no audit report.",
  format: "Corrects the format and the order of imports of every file, and reports what the linter cannot correct.",
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
// These run the test runner, linters or the compiler.
await installMissing(["test", "check", "format", "build"].includes(task));
const [script = "", ...fixed] = step;
if (newEnough && script.endsWith(".ts")) {
  hideExperimental();
  stopWithCaller(() => process.kill(process.pid, "SIGTERM"));
  process.argv = [process.execPath, join(root, script), ...fixed, ...rest];
  await import(pathToFileURL(join(root, script)).href);
} else {
  await handOver(nodeToUse(), ["--disable-warning=ExperimentalWarning", script, ...fixed, ...rest]);
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
