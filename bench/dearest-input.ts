// The dearest known bodies of each API: what reading one costs the event loop, accepted or refused. See README.md.
import { randomUUID } from "node:crypto";
import { client, core } from "../functions/auth/routes.ts";
import type { Call } from "../lib/http/call.ts";
import { bodyLimitBytes } from "../lib/http/parse/read-body.ts";
import { readFields } from "../lib/http/parse/read-fields.ts";
import { readJson } from "../lib/http/parse/read-json.ts";
import { machine, table } from "./auth/load.ts";

const form = "application/x-www-form-urlencoded";
const json = "application/json";
const multipart = "multipart/form-data; boundary=b";

/** A body that is as long as the limit allows. */
interface Body {
  readonly name: string;
  readonly type: string;
  readonly text: (bytes: number) => string;
}

const filled = (before: string, unit: string, after: string) => (bytes: number) =>
  before + unit.repeat(Math.floor((bytes - before.length - after.length) / unit.length)) + after;

const bodies: readonly Body[] = [
  { name: "form, one field after the other", type: form, text: filled("", "a=1&", "b=2") },
  { name: "form, one value of escapes", type: form, text: filled("password=", "%C3%A9", "") },
  { name: "form, one value of plus signs", type: form, text: filled("password=", "+", "") },
  { name: "JSON, one field after the other", type: json, text: filled('{"a":1', ',"a":1', "}") },
  { name: "JSON, one text of escapes", type: json, text: filled('{"password":"', "\\u00e9", '"}') },
  {
    name: "JSON, one text with pairs of surrogates",
    type: json,
    text: filled('{"password":"', "\\ud83d\\ude00", '"}'),
  },
  {
    name: "JSON, nested lists",
    type: json,
    text: bytes => `{"a":${"[".repeat(bytes / 2 - 4)}${"]".repeat(bytes / 2 - 4)}}`,
  },
  { name: "JSON, list of lists", type: json, text: filled('{"a":[[]', ",[]", "]}") },
  { name: "JSON, list of lists and a surrogate", type: json, text: filled('{"a":["\\ud83d\\ude00"', ",[]", "]}") },
  {
    name: "JSON, list of objects and a surrogate",
    type: json,
    text: filled('{"a":["\\ud83d\\ude00"', ',{"b":0}', "]}"),
  },
  {
    name: "multipart, one part",
    type: multipart,
    text: filled('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n', "x", "\r\n--b--\r\n"),
  },
  { name: "multipart, broken delimiters", type: multipart, text: filled("--b\r\n", "\r\n--", "--b--\r\n") },
];

const apis: readonly {
  readonly name: string;
  readonly bytes: number;
  readonly read: (call: Call, bytes: number) => Promise<unknown>;
}[] = [
  { name: "Client", bytes: client.bodyLimitBytes, read: readFields },
  { name: "Core", bytes: core.bodyLimitBytes, read: readFields },
  { name: "Connector", bytes: bodyLimitBytes, read: readJson },
];

/** Milliseconds of CPU of the best of several runs, because other work can only make it worse. */
async function cost(
  read: (call: Call, bytes: number) => Promise<unknown>,
  { type, text }: Body,
  limit: number,
): Promise<number> {
  const bytes = new TextEncoder().encode(text(limit));
  const call: Call = {
    method: "POST",
    url: new URL("http://127.0.0.1/"),
    params: {},
    headers: new Headers({ "content-type": type }),
    invocationId: randomUUID(),
    body: async () => bytes,
  };
  const runs: number[] = [];
  for (let run = 0; run < 7; run++) {
    const before = process.cpuUsage();
    // A refusal is a result too.
    await read(call, limit).catch(() => {});
    const { user, system } = process.cpuUsage(before);
    runs.push((user + system) / 1000);
  }
  return Math.min(...runs);
}

const rows: string[][] = [];
for (const body of bodies) {
  const costs: string[] = [];
  for (const { read, bytes } of apis) costs.push((await cost(read, body, bytes)).toFixed(1));
  rows.push([body.name, ...costs]);
}
console.log(
  table([["CPU ms of reading the body", ...apis.map(({ name, bytes }) => `${name}, ${bytes / 1024} KiB`)], ...rows]),
);
console.log(machine());
