// Development tool: writes the OpenAPI documents of the APIs, the types of those that the commands call, and the AsyncAPI
// document of the events.
import { writeFileSync } from "node:fs";
import { asyncapiFiles } from "./asyncapi/document.ts";
import { jsonText } from "./json-text.ts";
import { openapiFiles, typeFiles } from "./openapi/files.ts";
import { shareRepeated } from "./openapi/share.ts";

const documents = openapiFiles(process.env);

const texts = {
  ...Object.fromEntries(Object.entries(documents).map(([path, each]) => [path, jsonText(shareRepeated(each))])),
  ...typeFiles(documents),
  ...Object.fromEntries(Object.entries(asyncapiFiles()).map(([path, each]) => [path, jsonText(each)])),
};
for (const [path, text] of Object.entries(texts)) {
  writeFileSync(path, text);
  console.log(path);
}
