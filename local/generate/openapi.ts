// Development tool: writes the OpenAPI documents of the APIs, the types of those that the commands call, and the AsyncAPI
// document of the events. With `--http`, writes the calls of each API for the REST client of an editor into `http` of the
// system's directory instead, with address and token of the local system that runs.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { readFacts } from "../start/run-file.ts";
import { asyncapiFiles } from "./asyncapi/document.ts";
import { jsonText } from "./json-text.ts";
import { openapiFiles, typeFiles } from "./openapi/files.ts";
import { httpCollection } from "./openapi/http-collection.ts";
import { shareRepeated } from "./openapi/share.ts";

const documents = openapiFiles(process.env);

if (process.argv.includes("--http")) {
  const directory = process.env.LOCAL_DIR || ".local";
  const facts = readFacts(directory);
  if (facts === undefined) {
    console.error(`There is no ${directory}/run.json. Start the local system first: npm start`);
    process.exit(1);
  }
  const tokens: Readonly<Record<string, string>> = facts.tokens;
  mkdirSync(`${directory}/http`, { recursive: true });
  for (const [path, document] of Object.entries(documents)) {
    const api = basename(path, ".json");
    const file = `${directory}/http/${api}.http`;
    const text = httpCollection(document, { base: facts.host, token: tokens[api] ?? "" }, Date.now());
    // It has a token.
    writeFileSync(file, text, { mode: 0o600 });
    console.log(file);
  }
  process.exit();
}

const texts = {
  ...Object.fromEntries(Object.entries(documents).map(([path, each]) => [path, jsonText(shareRepeated(each))])),
  ...typeFiles(documents),
  ...Object.fromEntries(Object.entries(asyncapiFiles()).map(([path, each]) => [path, jsonText(each)])),
};
for (const [path, text] of Object.entries(texts)) {
  writeFileSync(path, text);
  console.log(path);
}
