// The deployable package: one folder that serves every API; SERVICE_APIS chooses (decision G1).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bundleApp, bundleFolder, nativePath } from "./bundle.ts";
import type { PackageFiles } from "./files.ts";
import { argon2Binary, azurePlatform } from "./native.ts";
import { notices } from "./notices.ts";

/** No package is installed where it is deployed to: `azd` would do so from the names that stood here. */
const manifest = (root: string): string => {
  const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const own = { name, version, ...(license && { license }), private: true, type: "module" };
  return `${JSON.stringify({ ...own, main: `${bundleFolder}/main.js`, engines: { node: ">=22" } }, undefined, 2)}\n`;
};

/** With this file `azd` builds nothing after the upload. */
const funcignore = "/local.settings.json\n";

/**
 * Everything that a deployment needs, made from the checkout in `root`. The same checkout gives the same bytes on every machine.
 * @param platform of the native binary; Azure's by default
 */
export async function buildPackage(root: string, platform = azurePlatform): Promise<PackageFiles> {
  const { files, packages } = await bundleApp(root);
  const text = (value: string) => Buffer.from(value, "utf8");
  return new Map<string, Uint8Array>([
    [".funcignore", text(funcignore)],
    ["host.json", readFileSync(join(root, "host.json"))],
    ["package.json", text(manifest(root))],
    ["THIRD-PARTY-NOTICES.txt", text(notices(root, packages))],
    ...files,
    [nativePath, argon2Binary(root, platform)],
  ]);
}
