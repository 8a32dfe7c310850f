import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { atEndOfFile } from "../../support/run/end-of-file.ts";
import { tableHostJson } from "./rows.ts";

/** Bundles the functions of the table, as the package of the product is bundled. Returns their folder. */
export async function packagedTable(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "host-table-"));
  atEndOfFile(async () => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "app"));
  await build({
    stdin: { contents: 'import { registerAll } from "./app.ts"; registerAll();', resolveDir: import.meta.dirname },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: join(folder, "app", "main.js"),
    external: ["@azure/functions-core"],
    banner: {
      js: 'import{createRequire as makeRequire}from"node:module";const require=makeRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  writeFileSync(join(folder, "app", "host.json"), JSON.stringify(tableHostJson));
  writeFileSync(
    join(folder, "app", "package.json"),
    JSON.stringify({ name: "table", version: "1.0.0", type: "module", main: "main.js" }),
  );
  return join(folder, "app");
}
