import { mkdirSync } from "node:fs";

/** Creates a directory. Returns false if there is one: of several processes, only one gets true. */
export const tryClaim = (directory: string): boolean => {
  try {
    mkdirSync(directory);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
};
