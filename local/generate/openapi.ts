// Development tool: writes the OpenAPI documents of the APIs.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { openapiFiles } from "./openapi/files.ts";

for (const [path, document] of Object.entries(openapiFiles(process.env))) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(document, undefined, 2)}\n`);
  console.log(path);
}
