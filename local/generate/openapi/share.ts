import { isDeepStrictEqual } from "node:util";
import { capitalised } from "./operation.ts";
import { ref } from "./schemas.ts";

type Holder = Record<string, unknown>;

/** A part of a document that may become a component. */
interface Part {
  readonly holder: Holder;
  readonly key: string;
  /** Of the component: a member of `components`. */
  readonly kind: string;
  /** Of the component. */
  readonly name: string;
}

/** The kinds of the parts that have these keys, and of the parts that lists and maps of these keys have. */
const kinds: Readonly<Record<string, string>> = { schema: "schemas", items: "schemas", requestBody: "requestBodies" };
const kindsIn: Readonly<Record<string, string>> = {
  properties: "schemas",
  parameters: "parameters",
  responses: "responses",
};

/** A schema that takes no more than this is no component: a reference to it would take as much. */
const shortSchema = 80;

/**
 * Returns an OpenAPI or AsyncAPI document in which what occurs several times is a component, named for its first place, and what all
 * operations have stands once. It says the same as the given one.
 */
export function shareRepeated(document: object): object {
  const { components = {}, ...copy } = structuredClone(document) as Holder & {
    readonly components?: Record<string, Holder>;
  };
  shareOfOperations(copy);
  for (;;) {
    const named = Object.values(components).flatMap(each => Object.values(each));
    const parts = [copy, ...named].flatMap(each => [...partsIn(each as Holder)]);
    const [text, same] = largestRepeated(parts);
    if (same === undefined) return { ...copy, components };
    const { kind, name: plain } = same[0] as Part;
    const known = components[kind] ?? {};
    let name = plain;
    for (let next = 2; Object.hasOwn(known, name); next++) name = `${plain}${next}`;
    components[kind] = { ...known, [name]: JSON.parse(text) };
    for (const { holder, key } of same) holder[key] = ref(kind, name);
  }
}

/** @param owner what contains the node: the id of an operation, or the name of a property */
function* partsIn(node: Holder, owner = "", childrenKind?: string): Generator<Part> {
  const at = typeof node.operationId === "string" ? node.operationId : owner;
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== "object" || value === null || (childrenKind === undefined && key.startsWith("example")))
      continue;
    const kind = childrenKind ?? kinds[key];
    if (kind !== undefined) yield { holder: node, key, kind, name: nameOf(kind, key, at, value) };
    yield* partsIn(
      value as Holder,
      childrenKind === "schemas" ? key : at,
      childrenKind === undefined ? kindsIn[key] : undefined,
    );
  }
}

function nameOf(kind: string, key: string, owner: string, value: { readonly name?: unknown }): string {
  if (kind === "parameters") return String(value.name).replace(/\W/g, "");
  if (kind === "schemas") return (key in kinds ? `${owner}_body` : key).split("_").map(capitalised).join("");
  return kind === "responses" ? owner + key : owner;
}

/** Returns the text of the largest part that occurs several times, and its places. */
function largestRepeated(parts: readonly Part[]): readonly [string, readonly Part[] | undefined] {
  const byText = Map.groupBy(parts, ({ holder, key }) => JSON.stringify(holder[key]));
  const repeated = [...byText].filter(
    ([text, [first, second]]) =>
      second !== undefined && !text.startsWith('{"$ref"') && (first?.kind !== "schemas" || text.length > shortSchema),
  );
  return repeated.toSorted(([a], [b]) => b.length - a.length)[0] ?? ["", undefined];
}

/** States once what all operations have: their security, if it is the same, and on each path the request id. */
function shareOfOperations(document: Holder): void {
  const paths = Object.values((document.paths ?? {}) as Record<string, Record<string, unknown>>);
  const operations = paths.flatMap(methods => Object.values(methods) as Holder[]);
  const [security, other] = new Set(operations.map(operation => JSON.stringify(operation.security)));
  if (security !== undefined && other === undefined) {
    document.security = JSON.parse(security);
    for (const operation of operations) delete operation.security;
  }
  const requestId = ref("parameters", "requestId");
  for (const operation of operations) {
    const own = (operation.parameters as readonly object[]).filter(each => !isDeepStrictEqual(each, requestId));
    operation.parameters = own;
    if (own.length === 0) delete operation.parameters;
  }
  for (const path of paths) path.parameters = [requestId];
}
