import * as z from "zod";

/** The maximum nesting depth. */
const deepest = 20;

/**
 * An object whose members are passed to the key maker unchanged, but without OData's annotations, which Microsoft Graph sends at every
 * depth (`@odata.type`, `name@odata.type`).
 */
export const optionMembers = z.lazy(() =>
  z.record(z.string(), z.unknown()).transform((members, context) => {
    try {
      return withoutAnnotations(members, 0) as Record<string, unknown>;
    } catch {
      context.addIssue({ code: "custom", message: "is nested too deeply" });
      return z.NEVER;
    }
  }),
);

function withoutAnnotations(value: unknown, depth: number): unknown {
  if (depth > deepest) throw new RangeError();
  if (Array.isArray(value)) return value.map(each => withoutAnnotations(each, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name]) => !name.includes("@odata."));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutAnnotations(member, depth + 1)]));
}
