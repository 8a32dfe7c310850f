import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** What a simulated peer remembers. `value` is changed in place, then saved. */
export interface State<T> {
  readonly value: T;
  save(): void;
}

/**
 * Opens the JSON file at `path`; where there is none, a copy of `empty`. Without a path the state lives in memory only.
 * The file is replaced whole, so a killed process leaves the old or the new one. Throws on a file that is no JSON.
 */
export function openState<T>(path: string | undefined, empty: T): State<T> {
  if (path === undefined) return { value: structuredClone(empty), save: () => {} };
  const value = read(path, empty);
  return {
    value,
    save: () => {
      const draft = `${path}.${process.pid}.new`;
      mkdirSync(dirname(path), { recursive: true });
      // Peers keep private keys here.
      writeFileSync(draft, JSON.stringify(value, undefined, 2), { mode: 0o600 });
      renameSync(draft, path);
    },
  };
}

function read<T>(path: string, empty: T): T {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return structuredClone(empty);
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Error(`the state file ${path} is no JSON; delete it to begin anew`, { cause });
  }
}
