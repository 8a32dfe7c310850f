import { readFileSync } from "node:fs";

/** Returns all code blocks of a language in a page, as one program. */
export const programOf = (page: string, language: string): string =>
  [...readFileSync(page, "utf8").matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))]
    .map(([, code = ""]) => code)
    .join("\n");
