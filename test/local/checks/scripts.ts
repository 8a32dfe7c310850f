/** The scripts that `npm test` runs. */
export const scripts = {
  format: "node_modules/@biomejs/biome/bin/biome",
  types: "node_modules/typescript/bin/tsc",
  unused: "node_modules/knip/bin/knip.js",
  templates: "local/checks/templates.ts",
  audit: "local/checks/audit.ts",
  tests: "node_modules/vitest/vitest.mjs",
} as const;

export type Script = keyof typeof scripts;
