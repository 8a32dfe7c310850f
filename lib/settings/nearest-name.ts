/**
 * Returns the function that finds the known name that a misspelt name most likely stands for; undefined if there is
 * none. Case and separators do not count; of the other characters one in six may differ, at most two.
 */
export function nearestNameIn(known: readonly string[]): (name: string) => string | undefined {
  const candidates = known.map(candidate => ({ candidate, letters: lettersOf(candidate) }));
  return name => {
    const letters = lettersOf(name);
    const limit = Math.min(2, Math.floor(letters.length / 6));
    const near = candidates
      .map(({ candidate, letters: other }) => ({ candidate, distance: editDistance(letters, other, limit) }))
      .filter(({ distance }) => distance <= limit);
    return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
  };
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

/**
 * Returns the number of edits between two texts: insert, delete or replace a character, or swap two neighbours. Returns
 * infinity for more than `limit`, in most cases after a few characters: the start of the app compares every variable
 * with every setting.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let beforePrevious: number[] = [];
  let previous: number[] = [];
  let row = Array.from({ length: Math.min(b.length, limit) + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    beforePrevious = previous;
    previous = row;
    row = new Array(Math.min(b.length, i + limit) + 1).fill(Number.POSITIVE_INFINITY);
    if (i <= limit) row[0] = i;
    // Further from the diagonal every distance is beyond the limit.
    for (let j = Math.max(1, i - limit); j < row.length; j++) {
      const at = (of: readonly number[], index: number) => of[index] ?? Number.POSITIVE_INFINITY;
      const replaced = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(beforePrevious, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, replaced, swapped);
    }
    // Two rows, because a swap of neighbours continues from the one before the previous one.
    if (Math.min(...row, ...previous) > limit) return Number.POSITIVE_INFINITY;
  }
  return row[b.length] ?? Number.POSITIVE_INFINITY;
}
