import { readFileSync } from "node:fs";

/** A JSON Schema as the documents have it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A parameter of an operation, by where it stands. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

/** One method of one path, without references. */
export interface Operation {
  readonly id: string;
  readonly api: "core" | "client" | "connector";
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Schemas of the body by media type. */
  readonly bodies: Readonly<Record<string, Schema>>;
  /** Every status that the document names. */
  readonly statuses: readonly number[];
  /** Names of the documented headers of each status. */
  readonly headers: Readonly<Record<number, readonly string[]>>;
  /** An example body of the request, if it has a body. */
  readonly exampleBody: unknown;
  /** An example of a success, with its status. */
  readonly example: { readonly status: number; readonly body: unknown };
}

interface Content {
  readonly description?: string;
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly example?: unknown }>>;
}
type Responses = Readonly<Record<string, Content>>;

const jsonOf = (of: Content | undefined) => of?.content?.["application/json"];

/** Returns the responses by status. That of a class of statuses lists each of them in its description. */
const byStatus = (responses: Responses): readonly (readonly [number, Content])[] =>
  Object.entries(responses)
    .sort(([a], [b]) => Number(b.endsWith("XX")) - Number(a.endsWith("XX")))
    .flatMap(([status, response]) => {
      const listed = [...(response.description ?? "").matchAll(/^- (\d{3}):/gm)].map(([, each]) => Number(each));
      return (status.endsWith("XX") ? listed : [Number(status)]).map(each => [each, response] as const);
    });

/** Returns the success that has an example, or one without a body. */
function successOf(responses: Responses): Operation["example"] {
  const successes = Object.entries(responses).filter(([status]) => status < "3");
  const [status, response] =
    successes.find(([, response]) => jsonOf(response)?.example !== undefined) ??
    successes.find(([, { content }]) => content === undefined) ??
    [];
  return { status: Number(status), body: jsonOf(response)?.example };
}

/** Returns a part of a document with what its references lead to. */
export function resolve(part: unknown, document: object): unknown {
  const resolved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== "object" || value === null) return value;
    const { $ref: reference } = value as Schema;
    if (reference === undefined) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner)]));
    }
    const steps = reference.slice(2).split("/");
    return resolved(steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document));
  };
  return resolved(part);
}

/** Returns the operations of one API, from its document. */
export function operationsOf(api: Operation["api"]): readonly Operation[] {
  const document = JSON.parse(readFileSync(`docs/openapi/${api}.json`, "utf8"));
  type Raw = Record<string, Record<string, Record<string, never>>>;
  return Object.entries(resolve(document.paths, document) as Raw).flatMap(
    ([path, { parameters: ofPath, ...methods }]) =>
      Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => ({
        id: operationId ?? "",
        api,
        method: method.toUpperCase(),
        path,
        parameters: [...parameters, ...(ofPath as unknown as readonly Parameter[])],
        bodies: Object.fromEntries(
          Object.entries((requestBody as { content?: object } | undefined)?.content ?? {}).map(([type, { schema }]) => [
            type,
            schema as Schema,
          ]),
        ),
        statuses: byStatus(responses as unknown as Responses).map(([status]) => status),
        headers: Object.fromEntries(
          byStatus(responses as unknown as Responses).map(([status, { headers = {} }]) => [
            status,
            Object.keys(headers),
          ]),
        ),
        exampleBody: jsonOf(requestBody)?.example,
        example: successOf(responses as unknown as Responses),
      })),
  );
}
