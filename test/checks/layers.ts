import { posix } from "node:path";

/**
 * Folders of a root from the lowest layer to the highest. A file imports from its own folder and from lower layers, so that
 * imports go downward only. `.` stands for the files right in the root; a folder includes the folders in it. A file, or
 * a folder in a folder, can have a layer of its own. `*.table.ts` and `*.blob.ts` stand for such files of all folders
 * except one with `/**`, whose storage is its own.
 */
type Layers = Readonly<Record<string, readonly (readonly string[])[]>>;

const layers: Layers = {
  "lib/connector": [
    ["model"],
    ["peers", "*.blob.ts"],
    ["*.table.ts"],
    ["idp", "storage"],
    ["."],
    ["runs"],
    ["events/**", "recovery"],
    ["collect"],
    ["pin"],
    ["activate", "create"],
    // The work on one key, which a revocation begins at once.
    ["jobs/process-security-keys.ts"],
    ["cancel"],
    ["api", "jobs"],
  ],
  "lib/auth": [
    // The domain model is pure.
    ["passwords/typed-code.ts", "ids.ts", "keyed-hash.ts", "otpkeys/prefix.ts"],
    ["sessions/device-token.ts"],
    ["sign-in/caller-address.ts", "sign-in/throttle.ts"],
    ["attributes/attributes.ts", "users/username.ts"],
    ["otpkeys/kinds", "passwords"],
    ["store.ts"],
    ["*.table.ts"],
    ["."],
    ["users", "sessions"],
    ["otpkeys"],
    ["sign-in"],
  ],
  "lib/platform": [["."], ["settings"], ["http"], ["azure"], ["telemetry"], ["maintenance"]],
};

/**
 * Returns one sentence for each import that does not go downward.
 * @param imports targets by importing file, both as paths from the project's root
 */
export function layerViolations(imports: ReadonlyMap<string, readonly string[]>): string[] {
  return [...imports].flatMap(([path, targets]) =>
    Object.entries(layers).flatMap(([root, order]) => {
      const from = folderIn(root, order, path);
      if (from === undefined) return [];
      const level = levelOf(order, from);
      if (level < 0) return [`${path} is in no layer of ${root}`];
      return targets
        .filter(target => {
          const to = folderIn(root, order, target);
          return to !== undefined && to !== from && levelOf(order, to) >= level;
        })
        .map(target => `${path} imports ${target}, which is not in a lower layer`);
    }),
  );
}

const storageFiles = ["*.table.ts", "*.blob.ts"];

/** The entry of the layers that a path below the root has, `.` for a file right in it, undefined for a path elsewhere. */
function folderIn(root: string, order: Layers[string], path: string): string | undefined {
  const below = posix.relative(root, path);
  if (below.startsWith("..")) return undefined;
  const whole = `${below.split("/")[0]}/**`;
  if (levelOf(order, whole) >= 0) return whole;
  const files = storageFiles.find(ending => below.endsWith(ending.slice(1)) && levelOf(order, ending) >= 0);
  if (files !== undefined) return files;
  const parts = below.split("/");
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join("/")).reverse();
  return paths.find(each => levelOf(order, each) >= 0) ?? (parts.length === 1 ? "." : parts[0]);
}

const levelOf = (order: Layers[string], folder: string): number => order.findIndex(level => level.includes(folder));
