// The bill of materials and the checksums, which show what the package contains and that it is the one that was built.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Component {
  readonly "bom-ref": string;
  readonly properties?: readonly { readonly name: string }[];
}

interface Bill {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/** How npm marks a package that only development needs. */
const development = "cdx:npm:package:development";

/**
 * Returns a CycloneDX document (JSON) of the npm packages that the bundle may contain, from package-lock.json. Without serial number and
 * time, so that the same checkout gives the same bytes. Throws if npm fails.
 */
export function billOfMaterials(root: string): string {
  const { status, stdout, stderr, error } = spawnSync(
    "npm",
    // Not with `--omit dev`, which also leaves out what both the app and a tool of development need.
    ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--workspaces=false"],
    { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024, shell: process.platform === "win32" },
  );
  if (status !== 0) throw new Error(`npm sbom failed: ${error?.message ?? stderr}`);
  const { serialNumber: _, metadata, components, dependencies, ...document } = JSON.parse(stdout) as Bill;
  const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { timestamp: __, ...known } = metadata;
  const component = { ...known.component, name };
  const deployed = components.filter(({ properties = [] }) => !properties.some(({ name: key }) => key === development));
  const refs = new Set([component["bom-ref"], ...deployed.map(each => each["bom-ref"])]);
  const graph = dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(each => ({ ...each, dependsOn: each.dependsOn?.filter(ref => refs.has(ref)) }));
  const bill = { ...document, metadata: { ...known, component }, components: deployed, dependencies: graph };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

/** Returns the SHA-256 of files as `sha256sum --check` reads them. */
export const checksums = (files: ReadonlyMap<string, Uint8Array | string>): string =>
  [...files].map(([name, content]) => `${createHash("sha256").update(content).digest("hex")}  ${name}\n`).join("");
