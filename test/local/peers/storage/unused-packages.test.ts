import { createRequire } from "node:module";
import { expect, onTestFinished, test } from "vitest";
import { leaveOutUnusedPackages } from "../../../../local/peers/storage/unused-packages.ts";

test("the storage's access to SQL databases and its telemetry load without their packages", () => {
  const require = createRequire(import.meta.url);
  const paths = () => Object.keys(require.cache);
  const before = paths();
  onTestFinished(() => {
    for (const path of paths().filter(path => !before.includes(path))) delete require.cache[path];
  });
  leaveOutUnusedPackages(require.resolve("azurite/dist/src/azurite.js"));
  for (const file of ["blob/persistence/SqlBlobMetadataStore.js", "common/Telemetry.js"])
    require(`azurite/dist/src/${file}`);
  const ofPackage = (name: string) => paths().filter(path => path.includes(`/node_modules/${name}/`));
  expect(ofPackage("azurite").length).toBeGreaterThan(2);
  // The replacement itself.
  expect(ofPackage("sequelize")).toHaveLength(1);
  expect(ofPackage("applicationinsights")).toHaveLength(1);
});
