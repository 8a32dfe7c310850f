import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { eventTypes } from "../../../lib/connector/model/states.ts";
import { cloudEventSchemas } from "../../../local/generate/asyncapi/cloud-event-schemas.ts";
import { asyncapiFiles } from "../../../local/generate/asyncapi/document.ts";
import { eventHeaders } from "../../../local/generate/asyncapi/headers.ts";
import { jsonText } from "../../../local/generate/json-text.ts";
import { resolve } from "../../functions/openapi/document.ts";

interface Message {
  readonly name: string;
  readonly summary: string;
  readonly payload: object;
  readonly examples: readonly { readonly payload: object }[];
}
const path = "docs/asyncapi.json";
const text = readFileSync(path, "utf8");
interface Headers {
  readonly properties: Readonly<Record<string, { readonly const?: string; readonly examples?: readonly string[] }>>;
}
interface Document {
  readonly channels: { readonly events: { readonly messages: Readonly<Record<string, Message>> } };
  readonly components: { readonly schemas: { readonly Headers: Headers } };
}
const document = JSON.parse(text) as Document;

it("the AsyncAPI document is what the schemas of events say; `npm run openapi` writes it", () => {
  expect(text).toBe(jsonText(asyncapiFiles()[path]));
});

it("describes every event, with an example that its schema accepts", () => {
  const { messages } = document.channels.events;
  expect(Object.keys(messages)).toEqual(eventTypes);
  for (const type of eventTypes) {
    const { name, summary, examples } = messages[type] as Message;
    expect([name, summary === ""]).toEqual([`fido-connector.${type}`, false]);
    expect(examples).toHaveLength(1);
    expect(cloudEventSchemas[type].strict().parse(examples[0]?.payload)).toEqual(examples[0]?.payload);
  }
});

it("gives headers as examples that an event can have", () => {
  const { properties } = document.components.schemas.Headers;
  const examples = Object.entries(properties).map(([name, { const: fixed, examples }]) => [
    name,
    fixed ?? examples?.[0],
  ]);
  expect(eventHeaders.strict().parse(Object.fromEntries(examples))).toBeTypeOf("object");
});

it("has a description for every field of an event that has no constant value", () => {
  const lacking: string[] = [];
  const visit = (schema: { properties?: Record<string, object>; allOf?: readonly object[] }, at: string): void => {
    for (const part of schema.allOf ?? []) visit(part, at);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const isDescribed = "description" in property || "const" in property;
      // The message has the description of its data, as its summary.
      if (!isDescribed && !(at in document.channels.events.messages && name === "data")) lacking.push(`${at}.${name}`);
      visit(property, `${at}.${name}`);
    }
  };
  for (const [type, { payload }] of Object.entries(document.channels.events.messages))
    visit(resolve(payload, document) as object, type);
  expect(lacking).toEqual([]);
});

it("allows fields that an event does not have today", () => {
  expect(text).not.toContain('"additionalProperties": false');
});

it("has no reference without a target", () => {
  const pointers = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map(([, pointer = ""]) => pointer);
  expect(pointers.length).toBeGreaterThan(10);
  for (const pointer of pointers)
    expect(
      pointer.split("/").reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document),
      pointer,
    ).toBeTypeOf("object");
});
