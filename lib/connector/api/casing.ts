type CamelName<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : S;
type SnakeName<S> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeName<Tail>}`
  : S;

/** A value of an API in the names of the model. An absent field is left out. */
type Camel<T> = T extends readonly (infer E)[]
  ? readonly Camel<E>[]
  : T extends object
    ? { readonly [K in keyof T as CamelName<K>]: Camel<Exclude<T[K], undefined>> }
    : T;

type Snake<T> = T extends readonly (infer E)[]
  ? Snake<E>[]
  : T extends object
    ? { [K in keyof T as SnakeName<K>]: Snake<T[K]> }
    : T;

/** Returns a value of an API, whose fields are `snake_case`, in the names of the model: `camelCase`, at every level. */
export const toCamelCase = <T>(value: T): Camel<T> =>
  renamed(value, name => name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase())) as Camel<T>;

/** Returns a value of the model in the names of the APIs. */
export const toSnakeCase = <T>(value: T): Snake<T> =>
  renamed(value, name => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)) as Snake<T>;

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map(each => renamed(each, rename));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [rename(name), renamed(field, rename)]));
}
