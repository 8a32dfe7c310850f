// Development tool: writes the OpenAPI documents of the APIs, their types for openapi-fetch, their calls for the REST client
// of an editor, and the AsyncAPI document of the events.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { asyncapiFiles } from "./asyncapi/document.ts";
import { jsonText } from "./json-text.ts";
import { clientTypes } from "./openapi/client-types.ts";
import { openapiFiles } from "./openapi/files.ts";
import { httpCollection } from "./openapi/http-collection.ts";
import { shareRepeated } from "./openapi/share.ts";

for (const [path, document] of Object.entries(openapiFiles(process.env))) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, jsonText(shareRepeated(document)));
  writeFileSync(path.replace(/json$/, "http"), httpCollection(document));
  writeFileSync(path.replace(/json$/, "ts"), clientTypes(basename(path), document));
  console.log(path);
}

for (const [path, document] of Object.entries(asyncapiFiles())) {
  writeFileSync(path, jsonText(document));
  console.log(path);
}
