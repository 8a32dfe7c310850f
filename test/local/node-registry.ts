import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** An npm registry with one package: a Node that is this one, started by a script. */
export interface NodeRegistry {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** Makes npm use this registry and a cache of its own. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts the registry. @param directory an empty one for its files */
export async function nodeRegistry(directory: string): Promise<NodeRegistry> {
  const name = "node-of-this-test";
  const version = "24.0.0";
  mkdirSync(join(directory, "bin"));
  writeFileSync(join(directory, "bin/node"), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name, version, bin: { node: "bin/node" } }));
  spawnSync("npm", ["pack", "--silent"], { cwd: directory });
  const archive = readFileSync(join(directory, `${name}-${version}.tgz`));
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const server = createServer((request, response) => {
    if (request.url?.endsWith(".tgz") === true) return response.end(archive);
    const { port } = server.address() as AddressInfo;
    const dist = { integrity, tarball: `http://127.0.0.1:${port}/${name}/-/${name}-${version}.tgz` };
    const versions = { [version]: { name, version, bin: { node: "bin/node" }, dist } };
    return response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    name,
    version,
    integrity,
    environment: { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(directory, "cache") },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
