interface Field {
  readonly least: number;
  readonly most: number;
  /** Names of the values from `least` on. */
  readonly names?: readonly string[];
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const fields: readonly Field[] = [
  { least: 0, most: 59 },
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: months },
  { least: 0, most: 6, names: weekdays },
];

/**
 * Whether the host takes a text as a schedule of six fields, seconds first. Of a timer whose schedule it does not take, the
 * host says so in its log, and the timer never runs.
 */
export function isNcrontab(text: string): boolean {
  const given = text.trim().split(/\s+/);
  return given.length === fields.length && fields.every((field, index) => isField(given[index] ?? "", field));
}

const isField = (text: string, field: Field): boolean => text.split(",").every(part => isPart(part, field));

/** `*`, a value, or a range from low to high; each with a step. */
function isPart(part: string, field: Field): boolean {
  const [, from = "", to = from, step = "1"] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (Number(step) < 1 || Number(step) > field.most) return false;
  if (from === "*") return to === from;
  const [low, high] = [numberOf(from, field), numberOf(to, field)];
  return low !== undefined && high !== undefined && low <= high;
}

function numberOf(word: string, { least, most, names = [] }: Field): number | undefined {
  const named = names.indexOf(word.toLowerCase());
  if (named !== -1) return least + named;
  const value = /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}
