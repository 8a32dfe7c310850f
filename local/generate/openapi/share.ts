import { capitalised } from "./operation.ts";
import { type Json, ref } from "./schemas.ts";

interface Operation extends Record<string, unknown> {
  readonly operationId: string;
  readonly parameters: Json[];
  readonly requestBody?: Json & { readonly content?: Readonly<Record<string, Record<string, Json>>> };
  readonly responses: Record<string, Json>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Record<string, Record<string, unknown> | undefined>;
}

/** A part of an operation that may become a component. */
interface Part {
  readonly holder: object;
  readonly key: string;
  /** Of the component, in which other characters than those of words are left out. */
  readonly name: string;
}

/** The parts of an operation by the kind of their component. Smaller ones come first, because larger ones contain them. */
const partsOf: Readonly<Record<string, (operation: Operation) => readonly Part[]>> = {
  parameters: ({ parameters }) =>
    parameters.map(({ name }, index) => ({ holder: parameters, key: String(index), name: String(name) })),
  schemas: ({ operationId, requestBody }) =>
    Object.values(requestBody?.content ?? {}).map(holder => ({
      holder,
      key: "schema",
      name: `${capitalised(operationId)}Fields`,
    })),
  requestBodies: operation =>
    operation.requestBody ? [{ holder: operation, key: "requestBody", name: operation.operationId }] : [],
  responses: ({ operationId, responses }) =>
    Object.keys(responses).map(key => ({ holder: responses, key, name: `${operationId}${key}` })),
};

/**
 * Returns an OpenAPI document in which what several operations have is a component, named for the first of them. It says the same as the
 * given one.
 */
export function shareRepeated(document: object): object {
  const copy: Document = JSON.parse(JSON.stringify(document));
  const operations = Object.values(copy.paths).flatMap(methods => Object.values(methods));
  for (const [kind, parts] of Object.entries(partsOf)) {
    const components = copy.components[kind] ?? {};
    const byText = Map.groupBy(operations.flatMap(parts), ({ holder, key }) =>
      JSON.stringify(Reflect.get(holder, key)),
    );
    for (const [text, same] of byText) {
      const value = JSON.parse(text);
      if (same.length === 1 || "$ref" in value) continue;
      const plain = (same[0]?.name ?? "").replace(/\W/g, "");
      let name = plain;
      for (let next = 2; Object.hasOwn(components, name); next++) name = `${plain}${next}`;
      components[name] = value;
      for (const { holder, key } of same) Object.assign(holder, { [key]: ref(kind, name) });
    }
    if (Object.keys(components).length > 0) copy.components[kind] = components;
  }
  return copy;
}
