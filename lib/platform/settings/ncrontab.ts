interface Field {
  readonly min: number;
  readonly max: number;
  /** Names of the values from `min` on. */
  readonly names?: readonly string[];
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const fields: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
];

/**
 * Returns whether a text is a six-field NCRONTAB expression, seconds first. The host only logs an invalid schedule and
 * never runs the timer, so the settings check it.
 */
export function isNcrontab(text: string): boolean {
  const parts = text.trim().split(/\s+/);
  return parts.length === fields.length && fields.every((field, index) => isField(parts[index] ?? "", field));
}

const isField = (text: string, field: Field): boolean => text.split(",").every(part => isPart(part, field));

/** Returns whether a text is `*`, a value or a range, each with an optional step. */
function isPart(part: string, field: Field): boolean {
  const [, from = "", to = from, step = "1"] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? [];
  if (Number(step) < 1 || Number(step) > field.max) return false;
  if (from === "*") return to === from;
  const [low, high] = [parseValue(from, field), parseValue(to, field)];
  return low !== undefined && high !== undefined && low <= high;
}

function parseValue(text: string, { min: least, max: most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text.toLowerCase());
  if (named !== -1) return least + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}
