import { existsSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { until } from "../until.ts";
import { tryClaim } from "./claim.ts";

/** Returns the text that `make` returns. It runs in one process of a run; the other processes wait for its text. */
export async function onceInRun(name: string, make: () => Promise<string>): Promise<string> {
  const file = join(inject("runDirectory"), name);
  const claim = `${file}.claim`;
  let isMaker = false;
  const isMadeOrClaimed = () => {
    if (existsSync(file)) return true;
    isMaker = tryClaim(claim);
    return isMaker;
  };
  await until(isMadeOrClaimed, () => `Another process does not make ${name}.`);
  if (isMaker) {
    try {
      writeFileSync(`${file}.draft`, await make());
      renameSync(`${file}.draft`, file);
    } catch (error) {
      rmdirSync(claim);
      throw error;
    }
  }
  return readFileSync(file, "utf8");
}
