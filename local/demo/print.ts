import { styleText } from "node:util";

/** Prints the story on the terminal. */
export interface Narrator {
  title(text: string): void;
  step(title: string, text: string): void;
  /** A call that the caller of the API makes. */
  call(line: string, status: number): void;
  /** Calls of the connector to its peers. */
  behind(lines: readonly string[]): void;
  note(text: string): void;
  /** States by the name of the object. */
  states(states: Readonly<Record<string, string>>): void;
  frame(lines: readonly string[]): void;
  paragraph(text: string): void;
}

const lineWidth = 64;

/** @param write writes a text unchanged */
export function createNarrator(write: (text: string) => void): Narrator {
  const style = (kind: Parameters<typeof styleText>[0], text: string) =>
    styleText(kind, text, { stream: process.stdout });
  let steps = 0;
  return {
    title: text => write(`\n${style("bold", text)}\n`),
    step: (title, text) => write(`\n${style("bold", `${++steps}. ${title}`)}\n   ${text}\n\n`),
    call: (line, status) => write(`   ${style("cyan", line.padEnd(lineWidth))} ${status}\n`),
    behind: lines => write(lines.map(line => `   ${style("dim", `  ${line}`)}\n`).join("")),
    states: states => {
      const texts = Object.entries(states).map(([subject, state]) => `${subject} ${style("green", state)}`);
      write(`     ${texts.join("   ")}\n`);
    },
    note: text => write(`   ${text}\n`),
    frame: lines => {
      const width = Math.max(...lines.map(line => line.length));
      const edge = "─".repeat(width + 2);
      write(`\n   ┌${edge}┐\n${lines.map(line => `   │ ${line.padEnd(width)} │\n`).join("")}   └${edge}┘\n`);
    },
    paragraph: text => write(`\n${text}\n`),
  };
}
