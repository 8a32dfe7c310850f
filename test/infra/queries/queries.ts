import { readFileSync } from "node:fs";
import * as z from "zod";
import { valueAt } from "../json.ts";
import { deployed, ofType } from "../templates.ts";

/** What a query asks for by name. */
export interface Asked {
  readonly events: readonly string[];
  readonly metrics: readonly string[];
  readonly fields: readonly string[];
  /** Values that fields are compared with. */
  readonly values: readonly string[];
}

const workbook = z.object({ items: z.array(z.object({ content: z.looseObject({ query: z.string().optional() }) })) });

/** Every query of the alerts and the workbook, by where it stands. */
export function queries(): ReadonlyMap<string, string> {
  const rules = ofType(deployed(), "Microsoft.Insights/scheduledQueryRules");
  const { items } = workbook.parse(JSON.parse(readFileSync("infra/workbook.json", "utf8")));
  return new Map([
    ...rules.map(({ name, body }) => [name, String(valueAt(body.properties, "criteria.allOf.0.query"))] as const),
    ...items.flatMap(({ content: { query, title } }) =>
      query === undefined ? [] : [[`workbook: ${title}`, query] as const],
    ),
  ]);
}

/** The names in a query. */
export function askedBy(query: string): Asked {
  const texts = (pattern: RegExp): string[] =>
    [...query.matchAll(pattern)].flatMap(([, found = ""]) =>
      [...found.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text),
    );
  return {
    events: [
      ...texts(/\bmessage (?:==|in) (\([^)]*\)|"[^"]*")/g),
      ...[...query.matchAll(/\\"event\\":\\"(\w+)\\"/g)].map(([, name = ""]) => name),
    ],
    metrics: texts(/\bname == ("[^"]*")/g),
    fields: [...query.matchAll(/customDimensions\.(\w+)/g)].map(([, name = ""]) => name),
    values: texts(/customDimensions\.\w+\) (?:==|!=) ("[^"]*")/g),
  };
}
