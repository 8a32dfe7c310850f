/** Returns foreign text as one line without control characters, which could change the terminal. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");

/** A stream of the process. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Output of a command. */
export interface Screen {
  /** Writes a result to standard output. */
  result(text: string): void;
  /** Writes a note to standard error. */
  note(text: string): void;
  /**
   * Shows the progress. A terminal shows it in one line, drawn at most ten times a second. Other outputs keep every line, so only
   * milestones are written.
   */
  progress(text: () => string, milestone: boolean): void;
  endProgress(): void;
}

export function createScreen(out: Output, error: Output, now: () => number): Screen {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let current = "";
  const clear = () => {
    if (current !== "") error.write("\r\x1b[2K");
  };
  const draw = () => {
    if (current !== "") error.write(current.slice(0, (error.columns || 80) - 1));
  };
  const above = (output: Output, text: string) => {
    clear();
    output.write(`${plain(text)}\n`);
    draw();
  };
  return {
    result: text => above(out, text),
    note: text => above(error, text),
    progress: (text, milestone) => {
      if (error.isTTY !== true) {
        if (milestone) error.write(`${text()}\n`);
      } else if (now() - drawnAt >= 100) {
        drawnAt = now();
        clear();
        current = text();
        draw();
      }
    },
    endProgress: () => {
      clear();
      current = "";
    },
  };
}
