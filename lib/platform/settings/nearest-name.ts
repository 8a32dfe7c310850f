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
      .filter(({ letters: other }) => Math.abs(letters.length - other.length) <= limit)
      .map(({ candidate, letters: other }) => ({ candidate, distance: editDistance(letters, other, limit) }))
      .filter(({ distance }) => distance <= limit);
    return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
  };
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

/**
 * Returns the number of edits between two texts: insert, delete or replace a character, or swap two neighbours. Returns
 * infinity for more than `limit`. Edits only where the texts differ and gives up after `limit` edits.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (at === a.length || at === b.length) return Math.abs(a.length - b.length);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  const rest = (skipA: number, skipB: number) => editDistance(a.slice(at + skipA), b.slice(at + skipB), limit - 1);
  const isSwap = a[at] === b[at + 1] && a[at + 1] === b[at];
  return 1 + Math.min(rest(1, 1), rest(1, 0), rest(0, 1), isSwap ? rest(2, 2) : Number.POSITIVE_INFINITY);
}
