import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { plant } from "./planted-tree.ts";

const deployed = globSync("{lib,functions}/**/*.ts").map(path => path.replaceAll("\\", "/"));

/** Returns the errors of the compiler without some of the deployed files: each the file and the text. */
function errorsWithout(isCut: (path: string) => boolean): readonly (readonly string[])[] {
  const remaining = deployed.filter(path => !isCut(path));
  const sources = remaining.map(path => [path, readFileSync(path, "utf8")] as const);
  const tree = plant({ "package.json": '{ "type": "module" }', ...Object.fromEntries(sources) });
  try {
    // Each thread of the compiler checks the types of libraries again.
    const { output } = tree.run("typescript/bin/tsc", "-p", "tsconfig.json", "--pretty", "false", "--singleThreaded");
    return [...output.matchAll(/^(.+)\(\d+,\d+\): error TS\d+: (.*)$/gm)].map(([, path = "", text = ""]) => [
      path,
      text,
    ]);
  } finally {
    tree.remove();
  }
}

it.each(["auth", "connector"])(
  "compiles without the folders of %s but for one import of the composition root",
  cut => {
    expect(deployed.filter(path => path.split("/").includes(cut)).length).toBeGreaterThan(80);
    expect(errorsWithout(path => path.split("/").includes(cut))).toEqual([
      ["functions/start.ts", expect.stringContaining(`'./${cut}/start/${cut}-service.ts'`)],
    ]);
  },
  120_000,
);

/** The endpoints and the composition of events. */
const eventFiles = [
  "functions/connector/events.ts",
  "functions/connector/events.ts",
  "functions/connector/start/post-event.ts",
];

it("compiles without the events of requests but for the routes, jobs and composition of the connector", () => {
  const errors = errorsWithout(path => path.startsWith("lib/connector/events/") || eventFiles.includes(path));
  expect([...new Set(errors.map(([path]) => path))].sort()).toEqual([
    "functions/connector/context.ts",
    "functions/connector/jobs.ts",
    "functions/connector/routes.ts",
    "functions/connector/start/maintenance-tasks.ts",
    "functions/connector/start/open-context.ts",
  ]);
}, 120_000);
