/**
 * Returns the shortest unit that a text repeats at least twice, the last time perhaps in part: `1234` of `123412341`. Returns
 * undefined if there is none. Takes time in proportion to the length (the failure function of Knuth, Morris and Pratt).
 */
export function repeatedUnit(characters: readonly string[]): readonly string[] | undefined {
  const borders = [0];
  let border = 0;
  for (let end = 1; end < characters.length; end++) {
    while (border > 0 && characters[border] !== characters[end]) border = borders[border - 1] ?? 0;
    if (characters[border] === characters[end]) border += 1;
    borders[end] = border;
  }
  const period = characters.length - border;
  return period * 2 <= characters.length ? characters.slice(0, period) : undefined;
}
