import { randomInt } from "node:crypto";

/** Returns a random PIN of digits, as key makers and agents generate it. */
export const generatedPin = (length: number): string => Array.from({ length }, () => randomInt(10)).join("");
