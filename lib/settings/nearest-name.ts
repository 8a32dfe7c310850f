/**
 * Returns the known name that a misspelt name most likely stands for; undefined if there is none. Case and separators
 * do not count; of the other characters one in six may differ, at most two.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const letters = lettersOf(name);
  const limit = Math.min(2, Math.floor(letters.length / 6));
  const near = known
    .filter(candidate => Math.abs(lettersOf(candidate).length - letters.length) <= limit)
    .map(candidate => ({ candidate, distance: editDistance(letters, lettersOf(candidate)) }))
    .filter(({ distance }) => distance <= limit);
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

/** Returns the number of edits between two texts: insert, delete or replace a character, or swap two neighbours. */
function editDistance(a: string, b: string): number {
  let previous: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const beforePrevious = previous;
    previous = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const at = (of: readonly number[], index: number) => of[index] ?? Number.POSITIVE_INFINITY;
      const replaced = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(beforePrevious, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(previous, j) + 1, at(row, j - 1) + 1, replaced, swapped));
    }
  }
  return row[b.length] ?? 0;
}
