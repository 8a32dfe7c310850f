/** An HTTP request, independent of the platform's types. */
export interface Call {
  readonly method: string;
  /**
   * Do not read parameters from the path: the host has decoded it and only partly encoded it again. Read `params`
   * instead. The query is as sent, including repeated names.
   */
  readonly url: URL;
  /** The path parameters, decoded once by the host. `%2F` and bytes that are not UTF-8 stay encoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Names are found in any letter case. */
  readonly headers: Pick<Headers, "get">;
  readonly invocationId: string;
  body(): Promise<Uint8Array>;
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite: "Strict" | "Lax" | "None";
  /** In seconds; 0 deletes the cookie. */
  readonly maxAge?: number;
}

/** An HTTP response. `body` is sent as JSON, `csv` as CSV; without both, the response has no body. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly csv?: string;
  readonly cookies?: readonly Cookie[];
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const noContent: Reply = { status: 204 };

/**
 * Returns records as CSV (RFC 4180): a header line with the columns, and a line for each record. A cell that a
 * spreadsheet would read as a formula gets an apostrophe in front.
 */
export function toCsv<C extends string>(
  columns: readonly C[],
  records: readonly { readonly [K in C]?: string | undefined }[],
): string {
  const lines = [columns, ...records.map(record => columns.map(column => record[column] ?? ""))];
  return lines.map(cells => `${cells.map(toCell).join(",")}\r\n`).join("");
}

function toCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
