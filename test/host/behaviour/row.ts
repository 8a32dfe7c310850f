/** The part of an answer that a row states. The answers of both hosts are compared as a whole. */
interface Stated {
  readonly status: number;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly body?: unknown;
  /** Names of the functions that run; by default those that the row's neighbours make plain are not stated. */
  readonly ran?: readonly string[];
}

export interface Row {
  /** Continues "a request with …". */
  readonly name: string;
  /** The request as it is sent, in Latin-1. */
  readonly sent: string;
  /** What Azure's host answers. */
  readonly answer: Stated;
  /** What the local host answers instead, and why it may. */
  readonly local?: Stated & { readonly because: string };
}

/** Returns a well-formed request. A text with characters above U+00FF is sent as UTF-8. */
export function request(line: string, headers: readonly string[] = [], body = ""): string {
  const bytes = Buffer.from(body, "utf8").toString("latin1");
  const length = body === "" ? [] : [`Content-Length: ${bytes.length}`];
  const all = ["Host: h", "Connection: close", ...length, ...headers];
  return `${line} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${bytes}`;
}
