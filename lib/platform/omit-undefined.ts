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
