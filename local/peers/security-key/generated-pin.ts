import { randomInt } from "node:crypto";

/** A PIN as makers of keys and agents make them up: digits. */
export const generatedPin = (length: number): string => Array.from({ length }, () => randomInt(10)).join("");
