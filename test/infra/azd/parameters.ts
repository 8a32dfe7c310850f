import { readFileSync } from "node:fs";
import { templates } from "../templates.ts";

/** Parameters of `main.parameters.json` by name. */
export const parametersFile: Readonly<Record<string, { readonly value: unknown }>> = JSON.parse(
  readFileSync("infra/main.parameters.json", "utf8"),
).parameters;

const params = templates.get("main.bicep")?.declarations.filter(each => each.kind === "param") ?? [];

/**
 * Returns the parameters that azd passes on for the variables of an environment: it fills the variables into the text of the file,
 * leaves out what is empty because a variable is not set, and reads numbers and booleans of text.
 */
export function azdParameters(environment: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const filled: typeof parametersFile = JSON.parse(
    JSON.stringify(parametersFile).replace(
      /\$\{(\w+)(?:=([^}]*))?\}/g,
      (_, name, otherwise = "") => environment[name] ?? otherwise,
    ),
  );
  const entries = Object.entries(filled).flatMap(([name, { value }]) => {
    const param = params.find(each => each.name === name);
    const primitive = param?.type.kind === "primitive" ? param.type.name : "";
    if (value === "") {
      const hasText = param?.default?.kind === "text" && param.default.parts.join("") !== "";
      return hasText ? [[name, value]] : [];
    }
    return [[name, primitive === "int" ? Number(value) : primitive === "bool" ? value === "true" : value]];
  });
  return Object.fromEntries(entries);
}
