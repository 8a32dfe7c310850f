/** Returns the record without the fields that are `undefined`. */
export const omitUndefined = <T extends object>(record: T): Present<T> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Present<T>;

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * The fields of T, none of them optional: with `omitUndefined<EachFieldOf<T>>({…})`, the compiler finds a forgotten
 * optional field.
 */
export type EachFieldOf<T> = {
  [K in keyof Required<T>]: T extends Record<K, T[K]> ? T[K] : T[K] | undefined;
};

/** Returns the record with these fields only, as far as it has them. */
export const pick = <T extends object, K extends keyof T>(record: T, ...names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.filter(name => name in record).map(name => [name, record[name]])) as Pick<T, K>;

/** Returns the items in lists of `size`, in their order. The last list may be shorter. */
export const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
