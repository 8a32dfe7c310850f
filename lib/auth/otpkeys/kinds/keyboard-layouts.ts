import { foldPrefix } from "../prefix.ts";

/**
 * OTP keys send positions on a keyboard, as if its layout were the US one. Each layout has the characters that appear
 * instead of the letters of modhex and of the digits.
 */
interface Layout {
  readonly letters: string;
  readonly digits: string;
}

const us: Layout = { letters: "cbdefghijklnrtuv", digits: "0123456789" };

const layouts: readonly Layout[] = [
  { letters: "jxe.uidchtnbpygk", digits: us.digits }, // Dvorak
  { letters: "cbsftdhuneikpglv", digits: us.digits }, // Colemak
  { letters: us.letters, digits: "à&é\"'(-è_ç" }, // AZERTY, lower case and with caps lock
  { letters: us.letters, digits: "À&É\"'(-È_Ç" },
  { letters: us.letters, digits: '=!"§$%&/()' }, // QWERTZ with caps lock; without it as US
];

const readers = layouts.map(({ letters, digits }) => {
  const map = new Map([...(letters + digits)].map((typed, index) => [typed, (us.letters + us.digits).charAt(index)]));
  return (text: string): string | undefined => {
    let read = "";
    for (const character of text) {
      const meant = map.get(character);
      if (meant === undefined) return undefined;
      read += meant;
    }
    return read;
  };
});

/** Returns what an OTP key sent if a text was typed under another keyboard layout: at most one text for each layout. */
export function readOtherLayouts(text: string): readonly string[] {
  const folded = foldPrefix(text);
  const read = readers.map(reader => reader(folded)).filter(meant => meant !== undefined);
  return [...new Set(read)].filter(meant => meant !== folded);
}
