/** Returns foreign text as one line without control characters, which could change the terminal. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");

/** A stream of the process. */
export interface Output {
  write(text: string): unknown;
}

/** Output of a command. */
export interface Screen {
  /** Writes a result to standard output. */
  result(text: string): void;
  /** Writes a note to standard error. */
  note(text: string): void;
}

export function createScreen(out: Output, error: Output): Screen {
  return {
    result: text => void out.write(`${plain(text)}\n`),
    note: text => void error.write(`${plain(text)}\n`),
  };
}
