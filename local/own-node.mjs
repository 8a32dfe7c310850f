// The Node 24 that npm installs where the machine's Node is too old. Plain JavaScript: it must run on Node 20.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** By platform and architecture: the package, its exact version, and npm's integrity of that version. */
const nodePackages = JSON.parse(readFileSync(new URL("./node-packages.json", import.meta.url), "utf8"));
const pinned = nodePackages[`${process.platform}-${process.arch}`];

/** Returns the path of the installed Node, undefined where it is missing or is another one than the pinned. @param directory `.node` */
export function ownNode(directory) {
  if (pinned === undefined) return undefined;
  const { name, version, integrity } = pinned;
  const installed = installedPackages(directory)[`node_modules/${name}`];
  if (installed?.version !== version || installed.integrity !== integrity) return undefined;
  return join(directory, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
}

/**
 * Writes the lock file by which `npm ci` installs the pinned package and rejects other content. Returns the package as `name@version`,
 * undefined where no package is known for this machine.
 */
export function writeNodeLock(directory) {
  if (pinned === undefined) return undefined;
  const { name, version, integrity } = pinned;
  const own = { name: "own-node", private: true, dependencies: { [name]: version } };
  const packages = { "": own, [`node_modules/${name}`]: { version, integrity } };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "package.json"), JSON.stringify(own));
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify({ name: own.name, lockfileVersion: 3, packages }));
  return `${name}@${version}`;
}

/** Returns what npm recorded as installed. */
function installedPackages(directory) {
  try {
    return JSON.parse(readFileSync(join(directory, "node_modules", ".package-lock.json"), "utf8")).packages ?? {};
  } catch {
    return {};
  }
}
