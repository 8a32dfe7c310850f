import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { version } from "../lib/platform/settings/deployment-settings.ts";

it("the version that the app reports is the package's", () => {
  expect(version).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
});
