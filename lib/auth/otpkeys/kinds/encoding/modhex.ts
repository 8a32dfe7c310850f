const alphabet = "cbdefghijklnrtuv";

/** Modhex: hexadecimal digits as letters that have the same position on most keyboard layouts. */
export const modhexPattern = /^[cbdefghijklnrtuv]*$/;

/** Decodes modhex to bytes. @param text matches `modhexPattern` and has an even length */
export const modhexToBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(modhexToHex(text), "hex"));

/** Converts modhex to hexadecimal digits. @param text matches `modhexPattern` */
export const modhexToHex = (text: string): string =>
  [...text].map(letter => alphabet.indexOf(letter).toString(16)).join("");
