import { base32crockford } from "@scure/base";

/** 80 bits are 16 characters of Base32. */
const codeBytes = 10;

/** Returns a random code that a person types: four groups of four characters, without letters that look like digits. */
export function createTypedCode(random: (bytes: number) => Uint8Array): string {
  const text = base32crockford.encode(random(codeBytes));
  return text.match(/.{4}/g)?.join("-") ?? text;
}

/** Returns a typed code as it was created: case does not matter, and letters that look like digits are those digits. */
export const readTypedCode = (code: string): string => code.toUpperCase().replaceAll("O", "0").replace(/[IL]/g, "1");
