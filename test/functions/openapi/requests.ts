import * as fc from "fast-check";
import type { Operation, Parameter } from "./document.ts";
import { allowed, type Known, oddText, oddValue } from "./inputs.ts";

/** One call as it goes over the wire. */
export interface Sent {
  readonly method: string;
  /** Path and query, escaped. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly chunked: boolean;
}

type Pair = readonly [string, string];
type Headers = Readonly<Record<string, string>>;

/** What calls are made from, besides the document. */
export interface Material {
  readonly known: Known;
  /** Headers that name callers. */
  readonly identities: readonly Headers[];
  /** Bodies that the system accepts. */
  readonly examples: readonly object[];
}

/** Returns calls of an operation as its document allows them, most of them changed afterwards. */
export function requestsOf(operation: Operation, { known, identities, examples }: Material): fc.Arbitrary<Sent> {
  const { method, parameters, bodies } = operation;
  const placed = (place: Parameter["in"]) => parameters.filter(parameter => parameter.in === place);
  const path = fc.tuple(
    ...placed("path").map(({ name, schema }) =>
      fc
        .oneof(
          { weight: 4, arbitrary: fc.constantFrom(...(known[name] ?? ["x"])) },
          allowed(schema, known, name),
          oddText,
        )
        .map(value => [name, String(value)] as const)
        // A client or a host takes these away before a route is looked for.
        .filter(([, value]) => !["", ".", ".."].includes(value)),
    ),
  );
  const headers = fc.tuple(
    mostly(fc.constantFrom(...identities), fc.constantFrom<Headers>({}, ...badCredentials)),
    record(placed("header"), known).map(pairs => Object.fromEntries(pairs.filter(([, value]) => isHeader(value)))),
    mostly(fc.constant<Headers>({}), oddHeaders),
  );
  return fc
    .record({
      path,
      query: queryOf(placed("query"), known),
      headers,
      body: bodyOf(bodies, known, examples),
      chunked: rarely,
    })
    .map(({ path: values, query, headers: [identity, own, odd], body, chunked }) => ({
      method,
      target: values.reduce(
        (target, [name, value]) => target.replace(`{${name}}`, () => encoded(value)),
        `${operation.path}${query === "" ? "" : `?${query}`}`,
      ),
      headers: { ...(body && { "content-type": contentTypes[body.type] ?? body.type }), ...identity, ...own, ...odd },
      ...(body && { body: body.text }),
      chunked: chunked && body !== undefined,
    }));
}

const rarely = fc.integer({ min: 0, max: 19 }).map(n => n === 0);

const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: usual }, other);

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** What a client can send: visible ASCII and Latin-1. */
const isHeader = (value: string): boolean => /^[\x20-\x7e\xa0-\xff]*$/.test(value);

const badCredentials: readonly Headers[] = [
  { authorization: "Bearer nonsense" },
  { authorization: "Basic dXNlcjpwYXNz" },
  { "x-service-session": "nonsense" },
  { cookie: "__Host-Service-Session=x; a=b; =; \xe9" },
];

const oddHeaders: fc.Arbitrary<Headers> = fc.oneof(
  fc.constantFrom<Headers>(
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "same-site" },
    { "x-forwarded-for": "not an address, 1.2.3.4" },
    { "idempotency-key": "a,b" },
    { "content-type": "text/plain" },
    { "content-type": "multipart/form-data" },
    { "content-type": "application/json; charset=\xe9" },
    { "x-request-id": "x".repeat(200) },
    { accept: "text/html" },
  ),
  fc
    .tuple(
      fc.constantFrom("x-request-id", "cookie", "idempotency-key", "x-service-session", "accept-language"),
      oddText,
    )
    .filter(([, value]) => isHeader(value))
    .map(([name, value]) => ({ [name]: value.trim() })),
);

/** Names and values of the parameters that are required, and of some others. */
const record = (parameters: readonly Parameter[], known: Known): fc.Arbitrary<readonly Pair[]> =>
  fc
    .record(Object.fromEntries(parameters.map(({ name, schema }) => [name, allowed(schema, known, name)])), {
      requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name) as never[],
    })
    .map(values => Object.entries(values).map(([name, value]) => [name, String(value)]));

const escaped = (pairs: readonly Pair[]): string =>
  pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");

/** Pairs with one of them changed: another value, a repeated or unknown name, too many, none. */
const changed = (pairs: readonly Pair[]): fc.Arbitrary<readonly Pair[]> =>
  fc.oneof(
    fc
      .tuple(fc.nat(), oddText)
      .map(([at, text]) => pairs.map((pair, n): Pair => (n === at % pairs.length ? [pair[0], text] : pair))),
    fc.constant([...pairs, ...pairs.slice(0, 1)]),
    fc.tuple(oddText, oddText).map(pair => [...pairs, pair]),
    fc.constant([...pairs, ...Array.from({ length: 40 }, (_, n): Pair => [`f${n}`, ""])]),
    fc.constant([]),
  );

const queryOf = (parameters: readonly Parameter[], known: Known): fc.Arbitrary<string> =>
  record(parameters, known).chain(pairs =>
    mostly(
      fc.constant(escaped(pairs)),
      fc.oneof(changed(pairs).map(escaped), fc.constantFrom("%", "=&=&", "a=%ff", "$top=0", "$skiptoken=x", "a=1&a=2")),
    ),
  );

function bodyOf(
  bodies: Operation["bodies"],
  known: Known,
  examples: readonly object[],
): fc.Arbitrary<{ type: string; text: string } | undefined> {
  const kinds = Object.entries(bodies).map(([type, schema]) => {
    const values = allowed(schema, known);
    const bases = examples.length === 0 ? values : fc.oneof(values, fc.constantFrom(...examples));
    return textOf(type, bases).map(text => ({ type, text }));
  });
  return kinds.length === 0 ? fc.constant(undefined) : fc.oneof(...kinds);
}

const boundary = "cut";
const contentTypes: Headers = { "multipart/form-data": `multipart/form-data; boundary=${boundary}` };

function textOf(type: string, values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  if (type === "application/json") {
    return values.chain(value =>
      fc.oneof({ weight: 2, arbitrary: fc.constant(JSON.stringify(value)) }, changedJson(value)),
    );
  }
  const form = (pairs: readonly Pair[]) => (type === "multipart/form-data" ? multipart(pairs) : escaped(pairs));
  return values.chain(value => {
    const pairs = Object.entries(value as object).map(([name, inner]): Pair => [name, String(inner)]);
    return fc.oneof({ weight: 2, arbitrary: fc.constant(form(pairs)) }, changed(pairs).map(form));
  });
}

const multipart = (pairs: readonly Pair[]): string =>
  `${pairs.map(([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join("")}--${boundary}--\r\n`;

/** JSON texts of a value with one place changed, or broken as text. */
const changedJson = (value: unknown): fc.Arbitrary<string> => {
  const text = JSON.stringify(value);
  const places = placesIn(value);
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.nat(), oddValue)
        .map(([at, odd]) => JSON.stringify(replaced(value, places[at % places.length] ?? [], odd))),
    },
    fc.tuple(oddText, oddValue).map(([name, odd]) => JSON.stringify({ ...(value as object), [name]: odd })),
    fc.constantFrom(
      "",
      "{",
      "null",
      "[]",
      '"x"',
      `${text.slice(0, -1)}`,
      `[${text}]`,
      text.replace("{", '{"a":1,"a":2,'),
    ),
    fc.constantFrom(text.replace(/"(?=[,}\]])/, '\\ud800"'), `{"x":${"[".repeat(5000)}${"]".repeat(5000)}}`),
  );
};

type Place = readonly (string | number)[];

const placesIn = (value: unknown, at: Place = []): readonly Place[] =>
  typeof value !== "object" || value === null
    ? [at]
    : [at, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]))];

function replaced(value: unknown, [key, ...rest]: Place, by: unknown): unknown {
  if (key === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string, unknown>)[key] = replaced((copy as Record<string, unknown>)[key], rest, by);
  return copy;
}
