const alphabet = "cbdefghijklnrtuv";

/** Hexadecimal digits in letters that lie in one place on most keyboards. */
export const modhexPattern = /^[cbdefghijklnrtuv]*$/;

/** @param text of `modhexPattern`, of even length */
export const modhexToBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(modhexToHex(text), "hex"));

/** @param text of `modhexPattern` */
export const modhexToHex = (text: string): string =>
  [...text].map(letter => alphabet.indexOf(letter).toString(16)).join("");
