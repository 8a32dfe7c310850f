// `npm run package`: the deployable folder package/, the same as package.zip, a bill of materials and checksums.
import { readArguments } from "../../commands/read-arguments.ts";
import { buildPackage } from "./build.ts";
import { writePackage, writeWhole, zipPackage } from "./files.ts";
import { azurePlatform, ownPlatform } from "./native.ts";
import { billOfMaterials, checksums } from "./sbom.ts";

const command = {
  name: "npm run package",
  help: `Writes the deployable folder package/ and the same as package.zip.

Usage: npm run package -- [--here]
  --here  with the native binary of this machine instead of Azure's, to try the folder with \`func start\`
  --help  show this text`,
  options: { here: { type: "boolean" } },
} as const;

/** Limit of package.zip, because a larger package makes a cold start slower. */
const maxBytes = 6 * 1024 * 1024;

try {
  const values = readArguments(command)?.values;
  if (values !== undefined) await make(values.here === true ? ownPlatform(".") : azurePlatform);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function make(platform: string): Promise<void> {
  const files = await buildPackage(process.cwd(), platform);
  const zip = zipPackage(files);
  writePackage("package", files);
  writeWhole("package.zip", zip, ".");
  const bill = billOfMaterials(process.cwd());
  const listed = new Map<string, Uint8Array | string>([
    ["package.zip", zip],
    ["package.cdx.json", bill],
  ]);
  writeWhole("package.cdx.json", Buffer.from(bill), ".");
  writeWhole("package.sha256", Buffer.from(checksums(listed)), ".");
  console.log(`${table(files)}\n\npackage/ and package.zip for ${platform}: ${mebibytes(zip.byteLength)} MiB zipped.`);
  if (zip.byteLength <= maxBytes) return;
  console.error(`That is more than ${mebibytes(maxBytes)} MiB.`);
  process.exitCode = 1;
}

function table(files: ReadonlyMap<string, Uint8Array>): string {
  return [...files].map(([path, { byteLength }]) => `${mebibytes(byteLength).padStart(8)} MiB  ${path}`).join("\n");
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(3);
}
