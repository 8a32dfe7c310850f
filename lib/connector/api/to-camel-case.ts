type CamelName<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : S;

/** A value of an API in the names of the model. An absent field is left out. */
type Camel<T> = T extends readonly (infer E)[]
  ? readonly Camel<E>[]
  : T extends object
    ? { readonly [K in keyof T as CamelName<K>]: Camel<Exclude<T[K], undefined>> }
    : T;

/** Returns a value of an API, whose fields are `snake_case`, in the names of the model: `camelCase`, at every level. */
export const toCamelCase = <T>(value: T): Camel<T> => renamed(value) as Camel<T>;

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value))
    if (field !== undefined)
      fields[name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase())] = renamed(field);
  return fields;
}
