import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { plant } from "./planted-tree.ts";

const deployed = globSync("{lib,functions}/**/*.ts").map(path => path.replaceAll("\\", "/"));

it.each(["auth", "connector"])(
  "compiles without the folders of %s but for two imports of the composition root",
  cut => {
    const remaining = deployed.filter(path => !path.split("/").includes(cut));
    expect(deployed.length - remaining.length).toBeGreaterThan(80);
    const sources = remaining.map(path => [path, readFileSync(path, "utf8")] as const);
    const tree = plant({ "package.json": '{ "type": "module" }', ...Object.fromEntries(sources) });
    try {
      // Each thread of the compiler checks the types of libraries again.
      const { output } = tree.run("typescript/bin/tsc", "-p", "tsconfig.json", "--pretty", "false", "--singleThreaded");
      const errors = [...output.matchAll(/^(.+)\(\d+,\d+\): error TS\d+: (.*)$/gm)].map(([, path, text]) => [
        path,
        text,
      ]);
      expect(errors).toEqual([
        ["functions/read-all-settings.ts", expect.stringMatching(`'\\./${cut}/start/read-[a-z-]+-settings\\.ts'`)],
        ["functions/start.ts", expect.stringContaining(`'./${cut}/start/${cut}-service.ts'`)],
      ]);
    } finally {
      tree.remove();
    }
  },
  120_000,
);
