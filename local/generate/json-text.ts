/** In characters, as for the code of the project. */
const lineWidth = 120;

/** Returns a JSON file in which a list or object is on one line if it fits there. */
export const jsonText = (value: unknown): string => `${write(value, "", lineWidth)}\n`;

/** @param room what the line has left for the value and a comma after it */
function write(value: unknown, indent: string, room: number): string {
  const line = oneLine(value);
  if (typeof value !== "object" || value === null || line.length < room) return line;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = `${indent}  `;
  const parts = Object.entries(value).map(([key, part]) => {
    const start = inner + (Array.isArray(value) ? "" : `${JSON.stringify(key)}: `);
    return start + write(part, inner, lineWidth - start.length);
  });
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  const parts = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}: ${oneLine(part)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}
