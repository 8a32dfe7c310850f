import * as z from "zod";
import { Fault, type Problem } from "../fault.ts";

/** Maximum number of reported unknown fields of an object, or ignored fields of an input. */
const reportLimit = 20;

/**
 * Returns a name that the sender chose, for refusals, logs and headers, if it looks like the name of a field. Another
 * text may be a secret: of a JSON body that is sent as a form, the name is the body.
 */
export const shownName = (name: string): string => (/^[$\w.[\]-]{1,100}$/.test(name) ? name : "(name not shown)");

/**
 * Returns the result of a schema. Zod compares the `length` of every value that has one, also of an object in the place
 * of a text or list. If that `length` is an object with a member `toString`, the comparison throws. Throws Fault
 * `invalid` then.
 */
export function safeParse<T extends z.ZodType>(schema: T, value: unknown): z.ZodSafeParseResult<z.output<T>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof TypeError && error.message.endsWith("object to primitive value"))) throw error;
    throw new Fault("invalid", "The request must not have an object in the place of a text or list.");
  }
}

/**
 * Returns the invalid fields of an input with the reason, and the first 20 unknown ones of each object. Contains no
 * values, which may be secrets.
 */
export const problemsOf = (error: z.core.$ZodError): Problem[] =>
  error.issues.flatMap(issue => {
    const paths =
      issue.code === "unrecognized_keys"
        ? issue.keys.slice(0, reportLimit).map(key => [...issue.path, shownName(key)])
        : [issue.path];
    return paths.map(path => ({ path: pathOf(path), reason: issue.message }));
  });

/** Returns a path as the sender would write it: `shipment.shipment_items[0].name`; "" for the whole input. */
export const pathOf = (keys: readonly PropertyKey[]): string =>
  keys.reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path === "" ? String(key) : `${path}.${String(key)}`;
  }, "");

const nouns: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const formats: Readonly<Record<string, string>> = {
  email: "an email address",
  url: "an absolute URL",
  datetime: "a time in ISO 8601, as in 2026-01-31T10:00:00Z",
  date: "a date, as in 2026-01-31",
  uuid: "a UUID",
  guid: "a UUID",
  json_string: "JSON",
};

const unknownReason = "is not a known field";

/** Returns the rest of a sentence that starts with the field. A schema's own message has precedence over this text. */
function reasonFor(issue: z.core.$ZodRawIssue): string {
  // null counts as absent, except as the whole input (G4).
  if (issue.input === undefined || (issue.input === null && (issue.path ?? []).length > 0)) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${nouns[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${typeof issue.values[0] === "number" ? "the numbers " : ""}${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `must ${boundText(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)}`;
    case "too_big":
      return `must ${boundText(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)}`;
    case "invalid_format":
      return issue.format === "regex" ? "is not well-formed" : `must be ${formats[issue.format] ?? issue.format}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return unknownReason;
    case "invalid_union":
      return (
        [...new Set(issue.errors.flat().map(inner => inner.message))].join(" or ") || "has none of the accepted forms"
      );
    default:
      return "is not valid";
  }
}

function boundText(origin: string, comparison: string, count: number | bigint): string {
  if (origin === "string") return `have ${comparison} ${count} ${count === 1 ? "character" : "characters"}`;
  if (origin === "array") return `have ${comparison} ${count} ${count === 1 ? "element" : "elements"}`;
  return `be ${comparison} ${count}`;
}

// Set as the locale, because only there the input is available: in the finished error, a missing field looks like one
// of the wrong type. A locale also applies to every schema without further code.
z.config({ localeError: reasonFor });

type Keys = readonly PropertyKey[];

/**
 * Returns the paths of the first 20 fields of an input that are not in its schema, in the input's order (G4).
 * @param input the value before parsing
 */
export function findIgnoredFields(schema: z.core.$ZodType, input: unknown): readonly string[] {
  const paths: string[] = [];
  for (const keys of findUnknown(schema, input, [])) {
    paths.push(pathOf(keys));
    if (paths.length === reportLimit) break;
  }
  return paths;
}

/**
 * Returns the first 20 unknown fields of an input as problems (G4).
 * @param schema if absent, every field is unknown
 * @param input the value before parsing
 */
export const unknownFields = (schema: z.core.$ZodType | undefined, input: unknown): readonly Problem[] =>
  findIgnoredFields(schema ?? z.object({}), input).map(path => ({ path, reason: unknownReason }));

/**
 * Returns the first 20 unknown parameters of a query as problems. `code` is none: it is a key of the Functions host,
 * which gateways add to every call.
 * @param schema that of an object; if absent, no parameter is known
 */
export function unknownParameters(schema: z.ZodType | undefined, query: object): readonly Problem[] {
  const names = Object.keys(shapeOf(schema));
  const reason = `is not known: the call ${names.length === 0 ? "has no parameters" : `accepts ${names.join(", ")}`}`;
  const unknown = unknownFields(schema, query).filter(({ path }) => path !== "code");
  return unknown.map(({ path }) => ({ path, reason }));
}

/** Returns the schemas of the fields of an object's schema, also of one that is built at its first use. */
export function shapeOf(schema: z.core.$ZodType | undefined): Readonly<Record<string, z.core.$ZodType>> {
  // `unwrap` would build the schema anew.
  if (schema instanceof z.ZodLazy) return shapeOf(schema._zod.innerType);
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** Knows the kinds of schemas that the bodies of endpoints have; a test fails if one has another. */
function* findUnknown(schema: z.core.$ZodType, input: unknown, at: Keys): Generator<Keys> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      for (const [key, value] of entriesOf(input)) {
        const inner = Object.hasOwn(def.shape, key) ? def.shape[key] : def.catchall;
        if (inner === undefined) yield [...at, shownName(key)];
        else yield* findUnknown(inner, value, [...at, key]);
      }
      return;
    case "array":
      if (!Array.isArray(input)) return;
      for (const [index, value] of input.entries()) yield* findUnknown(def.element, value, [...at, index]);
      return;
    case "optional":
    case "default":
      return yield* findUnknown(def.innerType, input, at);
    case "lazy":
      return yield* findUnknown((schema as z.core.$ZodLazy)._zod.innerType, input, at);
    case "pipe":
      return yield* findUnknown(def.in._zod.def.type === "transform" ? def.out : def.in, input, at);
    default:
  }
}

const entriesOf = (input: unknown): [string, unknown][] =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
