import type { Row } from "../../lib/platform/azure/tables.ts";

/** Rows by their table. */
export type Snapshot = Readonly<Record<string, readonly Row[]>>;

/** What differs between a model's rows and those of its copy. */
export interface Difference {
  /** Texts of the model and of the copy, which replace them in keys and columns. */
  readonly texts: readonly (readonly [string, string])[];
  /** Numbers of the model and of the copy. */
  readonly numbers?: ReadonlyMap<unknown, number>;
}

export interface CopiedRow {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** Returns a function that copies a row, with columns in the form of the protocol. Values that do not differ are shared. */
export function copierOf(
  { partitionKey, rowKey, etag, ...columns }: Row,
  { texts: model, numbers }: Difference,
): (difference: Difference) => CopiedRow {
  const differs = (value: unknown) =>
    typeof value === "string" ? model.some(([from]) => value.includes(from)) : numbers?.has(value) === true;
  const varying = Object.entries(columns).filter(([, value]) => differs(value));
  const shared = Object.fromEntries(Object.entries(columns).filter(([, value]) => !differs(value)));
  return difference => {
    const replaced = (text: string): string =>
      difference.texts.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
    const copied: Record<string, unknown> = { ...shared };
    for (const [name, value] of varying) {
      const own = typeof value === "string" ? replaced(value) : difference.numbers?.get(value);
      const isLong = typeof own === "number" && Math.abs(own) >= 2 ** 31;
      copied[name] = isLong ? String(own) : own;
      if (isLong) copied[`${name}@odata.type`] = "Edm.Int64";
    }
    return { partitionKey: replaced(partitionKey), rowKey: replaced(rowKey), columns: copied };
  };
}
