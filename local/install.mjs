// Installs what a task needs: the packages, and Node 24 if the machine's Node is too old. Plain JavaScript, because it must run on
// Node 20. The working directory is the project's.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./install-lock.mjs";
import { ownNode, writeNodeLock } from "./own-node.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Node runs TypeScript without a flag from these versions on; the SDKs need 22. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
export const newEnough = major >= 24 || (major === 22 && minor >= 18) || (major === 23 && minor >= 6);

/**
 * Installs what is missing. Ends the process with a message if that fails.
 * @param withTests also the packages of the workspace `test`, which are more than half of all
 */
export async function installMissing(withTests) {
  if (missing(wantedPackages(withTests)).length === 0) return;
  try {
    await withLock(join(ownNodeDirectory(), "install.lock"), () => install(wantedPackages(withTests)));
  } catch (error) {
    console.error(`Cannot install into ${root}: ${error.message}`);
    process.exit(1);
  }
}

/** Returns what must be installed: Node, packages. */
function missing(wanted) {
  return [
    ...(newEnough || existsSync(nodeToUse() ?? "") ? [] : ["node"]),
    ...(packagesAreCurrent(wanted) ? [] : ["packages"]),
  ];
}

/** Returns the packages to have. Those of the tests are among them once they are installed: npm would remove them. */
function wantedPackages(withTests) {
  const locked = packagesOf("package-lock.json");
  const isWhole = withTests || Object.hasOwn(packagesOf("node_modules/.package-lock.json"), "node_modules/tests");
  const paths = isWhole ? Object.keys(locked).filter(path => path.startsWith("node_modules/")) : ownPackages(locked);
  return { locked, paths, isWhole };
}

/** Returns the paths of the packages that the project depends on without its workspace, directly or through others. */
function ownPackages(locked) {
  const found = new Set();
  const visit = path => {
    const { peerDependencies = {}, peerDependenciesMeta = {}, ...others } = locked[path];
    const peers = Object.keys(peerDependencies).filter(name => !peerDependenciesMeta[name]?.optional);
    const rest = { ...others.dependencies, ...others.devDependencies, ...others.optionalDependencies };
    for (const name of [...Object.keys(rest), ...peers]) {
      const next = resolved(locked, path, name);
      if (next === undefined || found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit("");
  return [...found];
}

/** Returns the path of a dependency, where Node looks for it: in the package, then in each folder above. Undefined if it is not locked. */
function resolved(locked, from, name) {
  const path = posix.join(from, "node_modules", name);
  if (Object.hasOwn(locked, path)) return path;
  if (from === "") return undefined;
  return resolved(locked, from.slice(0, Math.max(from.lastIndexOf("/node_modules/"), 0)), name);
}

/** Returns whether node_modules has these packages of package-lock.json, whether this program installed them or not. */
function packagesAreCurrent({ locked, paths }) {
  const installed = packagesOf("node_modules/.package-lock.json");
  return paths.every(path => {
    const { version, integrity, optional } = locked[path];
    const found = installed[path];
    // Optional packages are those of other platforms.
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity && existsSync(path);
  });
}

/** Returns the packages of a lock file by their paths; none if there is no such file. */
function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, "utf8")).packages;
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}

async function install(wanted) {
  const parts = missing(wanted);
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
    await warnWithoutRegistry();
    const done = showProgress(wanted);
    // Not `npm ci`, which fails if a registry lacks packages of platforms other than this one.
    await npm(nodeToUse(), ["install", "--no-save", ...(wanted.isWhole ? [] : ["--workspaces=false"])]);
    done();
  }
}

/** Shows how many packages are installed, on a terminal as they are. Returns what reports the end. */
function showProgress({ locked, paths: wanted, isWhole }) {
  const paths = wanted.filter(path => locked[path].optional !== true).map(path => join(path, "package.json"));
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  const { isTTY } = process.stderr;
  const size = isWhole ? "0.8 GB" : "0.4 GB";
  console.error(`Installing ${paths.length} packages (${size} on the disk), which takes about half a minute.`);
  const show = () => {
    const count = paths.filter(path => existsSync(path)).length;
    const text = `${count} of ${paths.length} packages, ${seconds()}`;
    process.stderr.write(isTTY ? `\r  ${text} ` : `  ${text}\n`);
  };
  const timer = setInterval(show, isTTY ? 500 : 30_000);
  return () => {
    clearInterval(timer);
    console.error(`${isTTY ? "\r" : ""}Installed the packages in ${seconds()}.         `.trimEnd());
  };
}

/** Returns the Node that runs the tasks. */
export function nodeToUse() {
  return newEnough ? process.execPath : ownNode(ownNodeDirectory());
}

function ownNodeDirectory() {
  return join(root, ".node");
}

/** Says early that the registry is not responding: npm tries it for minutes before it fails. A mirror without `ping` is no problem. */
async function warnWithoutRegistry() {
  const code = await npmCode(nodeToUse(), ["ping", "--fetch-timeout=10000", "--fetch-retries=0"], "ignore").catch(
    () => 0,
  );
  if (code !== 0)
    console.error(
      "npm's registry did not respond to a ping. If it cannot be reached, the installation fails after several minutes: " +
        "see docs/troubleshooting.md.",
    );
}

/** Runs npm without its warnings, notices and progress, which a user of this project cannot act on. */
async function npm(withNode, args) {
  if ((await npmCode(withNode, args, "inherit")) === 0) return;
  console.error(`npm ${args[0]} failed.`);
  process.exit(1);
}

/** Runs npm. Returns its exit code. @param errors `inherit` prints its errors, `ignore` does not */
async function npmCode(withNode, args, errors) {
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier"];
  const cli = process.env.npm_execpath;
  const direct = cli !== undefined && /\.c?js$/.test(cli);
  const path = [dirname(withNode), process.env.PATH].join(process.platform === "win32" ? ";" : ":");
  const options = { stdio: ["ignore", "ignore", errors], env: { ...process.env, PATH: path } };
  const child = direct
    ? spawn(withNode, [cli, ...args, ...quiet], options)
    : spawn("npm", [...args, ...quiet], { ...options, shell: process.platform === "win32" });
  return new Promise((resolve, reject) => {
    child.once("exit", resolve);
    child.once("error", reject);
  });
}
