import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The state of a simulated peer. `value` is changed in place, then saved. */
export interface State<T> {
  readonly value: T;
  save(): void;
}

/**
 * Reads the JSON file at `path`; a copy of `empty` if there is none. Without a path the state is kept in memory only.
 * The file is replaced as a whole, so that a killed process leaves the old or the new one. Throws if the file is not JSON.
 */
export function openState<T>(path: string | undefined, empty: T): State<T> {
  if (path === undefined) return { value: structuredClone(empty), save: () => {} };
  const value = read(path, empty);
  return {
    value,
    save: () => {
      const draft = `${path}.${process.pid}.new`;
      mkdirSync(dirname(path), { recursive: true });
      // Not readable for others: peers store private keys here.
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
    throw new Error(`the state file ${path} is not JSON; delete it to start with an empty state`, { cause });
  }
}
