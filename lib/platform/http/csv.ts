/**
 * Returns records as CSV (RFC 4180): a header line with the columns, and a line for each record. A cell that a
 * spreadsheet would read as a formula gets an apostrophe in front.
 */
export function toCsv<C extends string>(
  columns: readonly C[],
  records: readonly { readonly [K in C]?: string | number | boolean | undefined }[],
): string {
  const lines = [columns, ...records.map(record => columns.map(column => String(record[column] ?? "")))];
  return lines.map(cells => `${cells.map(toCell).join(",")}\r\n`).join("");
}

function toCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
