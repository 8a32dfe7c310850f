import { readFileSync } from "node:fs";
import type { Environment } from "../cases.ts";

/** Parameters of `main.parameters.json` by name. */
export const parametersFile: Readonly<Record<string, { readonly value: unknown }>> = JSON.parse(
  readFileSync("infra/main.parameters.json", "utf8"),
).parameters;

/** Declarations of parameters, as in a compiled template. */
export type Declarations = Readonly<Record<string, { readonly type?: string; readonly defaultValue?: unknown }>>;

const declared = (): Declarations =>
  JSON.parse(readFileSync("test/infra/snapshots/outline.json", "utf8"))["main.bicep"].parameters;

/**
 * Returns the parameters that azd passes on for the variables of an environment: it fills the variables into the text of the file,
 * leaves out what is empty because a variable is not set, and reads numbers and booleans of text.
 */
export function azdParameters(environment: Environment, declarations = declared()): Readonly<Record<string, unknown>> {
  const filled: typeof parametersFile = JSON.parse(
    JSON.stringify(parametersFile).replace(
      /\$\{(\w+)(?:=([^}]*))?\}/g,
      (_, name, otherwise = "") => environment[name] ?? otherwise,
    ),
  );
  const entries = Object.entries(filled).flatMap(([name, { value }]) => {
    const { type, defaultValue } = declarations[name] ?? {};
    if (value === "") return typeof defaultValue === "string" && /^[^[]/.test(defaultValue) ? [[name, value]] : [];
    return [[name, type === "int" ? Number(value) : type === "bool" ? value === "true" : value]];
  });
  return Object.fromEntries(entries);
}
