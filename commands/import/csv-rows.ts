import { CsvError, parse } from "csv-parse/sync";

/** A row of a CSV file with its values by the names of the header. */
export interface CsvRow {
  /** Number of the line on which the row ends, from 1. */
  readonly line: number;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Parses a CSV file with a header. Commas, semicolons or tabs separate columns: that of which the header has most. Throws an
 * error that names the line and quotes nothing.
 */
export function csvRows(file: string, text: string): readonly CsvRow[] {
  const [header = ""] = text.split(/\r?\n/, 1);
  const [delimiter = ","] = [",", ";", "\t"].sort(
    (one, other) => header.split(other).length - header.split(one).length,
  );
  try {
    const rows = parse(text, {
      bom: true,
      columns: true,
      delimiter,
      info: true,
      skip_empty_lines: true,
    }) as unknown as {
      readonly record: Record<string, string>;
      readonly info: { readonly lines: number };
    }[];
    return rows.map(({ record, info }) => ({ line: info.lines, values: record }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new Error(`${file} is no CSV with a header: ${error.code} on line ${String(error.lines)}.`);
  }
}
