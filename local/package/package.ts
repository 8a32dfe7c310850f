// `npm run package`: the deployable folder package/ and the same as package.zip.
import { parseArgs } from "node:util";
import { buildPackage } from "./build.ts";
import { writePackage, writeWhole, zipPackage } from "./files.ts";
import { azurePlatform, ownPlatform } from "./native.ts";

const usage = `npm run package -- [--here]
  --here  with the native binary of this machine instead of Azure's, to try the folder with \`func start\``;

/** What a deployment may weigh. */
const mostBytes = 6 * 1024 * 1024;

const { values } = parseArgs({ options: { here: { type: "boolean" }, help: { type: "boolean" } } });
if (values.help === true) console.log(usage);
else await make(values.here === true ? ownPlatform(".") : azurePlatform);

async function make(platform: string): Promise<void> {
  const files = await buildPackage(process.cwd(), platform);
  const zip = zipPackage(files);
  writePackage("package", files);
  writeWhole("package.zip", zip, ".");
  console.log(`${table(files)}\n\npackage/ and package.zip for ${platform}: ${mebibytes(zip.byteLength)} MiB zipped.`);
  if (zip.byteLength <= mostBytes) return;
  console.error(`That is more than ${mebibytes(mostBytes)} MiB.`);
  process.exitCode = 1;
}

function table(files: ReadonlyMap<string, Uint8Array>): string {
  return [...files].map(([path, { byteLength }]) => `${mebibytes(byteLength).padStart(8)} MiB  ${path}`).join("\n");
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(3);
}
