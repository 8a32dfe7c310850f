/** Text of others as a terminal may be told it: one line without control characters. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** What the one who started the command sees. */
export interface Screen {
  /** A result; results alone go to standard output. */
  result(text: string): void;
  /** Said once, beside the results. */
  note(text: string): void;
  /**
   * Where the run stands. A terminal shows it in one line, drawn at most ten times a second. Elsewhere lines stay, so only
   * milestones are written.
   */
  progress(text: () => string, milestone: boolean): void;
  endProgress(): void;
}

export function createScreen(out: Output, error: Output, now: () => number): Screen {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let standing = "";
  const clear = () => {
    if (standing !== "") error.write("\r\x1b[2K");
  };
  const draw = () => {
    if (standing !== "") error.write(standing.slice(0, (error.columns || 80) - 1));
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
        standing = text();
        draw();
      }
    },
    endProgress: () => {
      clear();
      standing = "";
    },
  };
}
