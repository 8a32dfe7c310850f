import Module, { createRequire } from "node:module";

/** What Azurite uses of them as it loads. It uses more only with AZURITE_DB or telemetry, which azurite.ts removes and disables. */
const exportsOf: Readonly<Record<string, object>> = { sequelize: { Model: class {} }, applicationinsights: {} };

/**
 * Replaces packages that Azurite loads and never uses here: a third of the CPU time of its start is loading them.
 * @param command a file of Azurite
 */
export function leaveOutUnusedPackages(command: string): void {
  const require = createRequire(command);
  for (const [name, exports] of Object.entries(exportsOf)) {
    const path = require.resolve(name);
    const replaced = new Module(path);
    Object.assign(replaced, { exports, loaded: true });
    require.cache[path] = replaced;
  }
}
