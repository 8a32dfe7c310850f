// Inputs that cost much in relation to their length.
import type * as z from "zod";
import type { Api, RouteParts } from "../../lib/platform/http/api.ts";
import type { Endpoint } from "../../lib/platform/http/endpoint.ts";
import { maxJsonDepth, maxJsonValues } from "../../lib/platform/http/read-body.ts";

export interface Input {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Texts, of which one is repeated up to the length of a field. */
const units = [
  "a",
  "1",
  " ",
  "-",
  "%",
  "+",
  "@a.",
  "é",
  "e\u0301\u0323",
  "\u0301",
  "ﷺ",
  "😀",
  "\u202e",
  "\\",
  "\u0000",
];
/** The host refuses longer request lines and headers. */
const [pathBytes, headerBytes] = [8000, 30_000];
const form = "application/x-www-form-urlencoded";
const json = "application/json";

/** Yields inputs that are as long as the bounds of the API allow. */
export function* inputsOf(
  api: Pick<Api<never>, "input" | "bodyLimitBytes">,
  endpoint: Pick<Endpoint<never>, "body">,
  parts: RouteParts,
): Generator<Input> {
  const { method, template } = parts;
  const url = `http://127.0.0.1/${template.replaceAll(/[{}]/g, "")}`;
  const params = (text: string) =>
    Object.fromEntries([...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, text]));
  const base = { method, url, params: params("anna"), headers: { host: "127.0.0.1" }, bytes: new Uint8Array() };
  const withBody = (name: string, type: string, text: string): Input => {
    const bytes = Buffer.from(text);
    if (bytes.length > api.bodyLimitBytes) throw new Error(`${name} is too long: ${bytes.length}`);
    return { ...base, name, headers: { ...base.headers, "content-type": type }, bytes };
  };

  for (const unit of units) {
    yield { ...base, name: `path of ${show(unit)}`, params: params(fill(unit, pathBytes / 3)) };
    const query = encodeURIComponent(unit);
    yield { ...base, name: `query of ${show(unit)}`, url: `${url}?filter=${fill(query, pathBytes)}` };
    yield { ...base, name: `parameters of ${show(unit)}`, url: `${url}?${fill(`${query}&`, pathBytes)}` };
  }
  for (const name of [
    "cookie",
    "x-forwarded-for",
    "origin",
    "x-original-url",
    "authorization",
    "x-service-session",
    "x-service-device",
    "content-type",
    "if-match",
    "idempotency-key",
  ]) {
    for (const unit of ["a", "a=b; ", ",", "/.", "%2e", ";"]) {
      const value = fill(unit, headerBytes);
      yield { ...withBody(`header ${name} of ${show(unit)}`, form, ""), headers: { host: "a", [name]: value } };
    }
  }
  if (method !== "POST") return;

  const limit = api.bodyLimitBytes;
  const names = Object.keys(shapeOf(endpoint.body) ?? {});
  if (api.input === "fields") {
    for (const name of names) {
      for (const unit of units) {
        yield withBody(
          `form, ${name} of ${show(unit)}`,
          form,
          `${name}=${fill(encodeURIComponent(unit), limit - name.length - 1)}`,
        );
      }
      yield withBody(`form, ${name} of plus signs`, form, `${name}=${fill("+", limit - name.length - 1)}`);
    }
    yield withBody("form, many fields", form, fill("a=1&", limit));
    const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n';
    const multipart = "multipart/form-data; boundary=b";
    yield withBody("multipart, one part", multipart, `${part}${fill("x", limit - part.length - 9)}\r\n--b--\r\n`);
    yield withBody("multipart, broken delimiters", multipart, fill("\r\n--", limit));
    yield withBody("multipart, headers", multipart, `--b\r\n${fill("a: b\r\n", limit - 12)}`);
  }
  const body = (text: string) => JSON.stringify(sample(endpoint.body, text));
  const leaves = body("\u0000").split("\\u0000").length - 1;
  for (const unit of units) {
    const each =
      (limit - body("").length) / Math.max(1, leaves) / (JSON.stringify(unit).length - 2) / Buffer.byteLength(unit);
    yield withBody(`JSON, texts of ${show(unit)}`, json, body(unit.repeat(Math.floor(each))));
  }
  const inside = (text: string, end: string) => `{"a":${text}${end}}`;
  const lists = Math.min(maxJsonValues - 3, Math.floor(limit / 4));
  yield withBody("JSON, many lists", json, inside(`[${fill("[],", lists * 3)}0`, "]"));
  yield withBody(
    "JSON, many objects with a surrogate",
    json,
    inside(`["\\ud83d\\ude00",${fill('{"b":0},', lists * 4)}0`, "]"),
  );
  yield withBody("JSON, too many lists", json, inside(fill("[],", limit - 8), "[]"));
  yield withBody("JSON, deep lists", json, inside("[".repeat(maxJsonDepth - 1), "]".repeat(maxJsonDepth - 1)));
  yield withBody("JSON, too deep lists", json, inside(fill("[", limit - 8), "]"));
  yield withBody(
    "JSON, many names",
    json,
    `{${Array.from({ length: maxJsonValues - 3 }, (_, index) => `"f${index}":0`)
      .join(",")
      .slice(0, limit - 20)},"z":0}`,
  );
  yield withBody("JSON, blanks after a name", json, `{"a"${fill(" ", limit - 8)}:0}`);
  yield withBody("JSON, escapes", json, `{"a":"${fill("\\u00e9", limit - 8)}"}`);
  yield withBody("JSON, quotation marks", json, `{"a":"${fill('\\"', limit - 8)}"}`);
  yield withBody("JSON, pairs of surrogates", json, `{"a":"${fill("\\ud83d\\ude00", limit - 8)}"}`);
  for (const name of names) {
    const most = Math.min(maxJsonValues - 4, Math.floor((limit - name.length - 10) / 3));
    yield withBody(`JSON, ${name} of zeros`, json, `{"${name}":[${fill("0,", most * 2)}0]}`);
    yield withBody(`JSON, ${name} of objects`, json, `{"${name}":[${fill("{},", most)}{}]}`);
  }
}

const show = (unit: string): string => JSON.stringify(unit);

/** Repeats a text up to a number of bytes. */
const fill = (unit: string, bytes: number): string =>
  unit.repeat(Math.max(0, Math.floor(bytes / Buffer.byteLength(unit))));

type Def = { readonly type: string } & Readonly<Record<string, unknown>>;
const defOf = (schema: z.ZodType): Def => (schema as unknown as { _zod: { def: Def } })._zod.def;

/** Returns the fields of an object's schema. */
function shapeOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> | undefined {
  if (schema === undefined) return undefined;
  const def = defOf(schema);
  if (def.type === "object") return def.shape as Record<string, z.ZodType>;
  const inner = (def.innerType ?? (def.type === "pipe" ? def.out : undefined)) as z.ZodType | undefined;
  return shapeOf(inner);
}

/** Returns a value of the form of a schema, with every field, lists of ten, and the same text in every place of one value. */
function sample(schema: z.ZodType | undefined, text: string): unknown {
  if (schema === undefined) return {};
  const def = defOf(schema);
  if (def.type === "object") {
    const shape = def.shape as Record<string, z.ZodType>;
    return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, sample(field, text)]));
  }
  if (def.type === "array") return Array.from({ length: 10 }, () => sample(def.element as z.ZodType, text));
  if (def.innerType !== undefined) return sample(def.innerType as z.ZodType, text);
  if (def.type !== "pipe") return text;
  const [from, to] = [def.in, def.out] as z.ZodType[];
  return sample(from !== undefined && defOf(from).type === "transform" ? to : from, text);
}
