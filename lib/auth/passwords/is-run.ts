/** The neighbours of each key of a keyboard by direction. A key is named by its characters without and with shift. */
export type Keyboard = Readonly<Record<string, readonly (string | null)[] | undefined>>;

/**
 * Returns whether each character follows the one before it in the same way: up or down by one, also around the end of the digits
 * and of the alphabet (`89012`, `yzabc`), or to the next key in one direction of a keyboard.
 */
export const isRun = (characters: readonly string[], keyboards: readonly Keyboard[]): boolean =>
  isSequence(characters) || isSequence(characters.toReversed()) || keyboards.some(keys => isLine(characters, keys));

const isSequence = (characters: readonly string[]): boolean =>
  characters.every((to, index) => index === 0 || followingCode(characters[index - 1] ?? "") === to.codePointAt(0));

const ends: Readonly<Record<string, number>> = { "9": 0x30, z: 0x61 };
const followingCode = (character: string): number => ends[character] ?? (character.codePointAt(0) ?? 0) + 1;

const isLine = ([first = "", ...others]: readonly string[], keys: Keyboard): boolean => {
  let from = first;
  let directions = [...(keys[first] ?? []).keys()];
  return others.every(to => {
    directions = directions.filter(direction => keys[from]?.[direction]?.includes(to));
    from = to;
    return directions.length > 0;
  });
};
