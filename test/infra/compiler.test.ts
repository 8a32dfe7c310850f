import { delimiter } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type FakeCommands, fakeCommands } from "./azd/fake-commands.ts";
import { compilerFaults } from "./compiler.ts";

describe("Bicep's own compiler, where it is on the PATH", () => {
  it.for(["infra/main.bicep", "infra/secret.bicep", "infra/backup-role.bicep"])(
    "finds no error and no warning in %s",
    (path, context) => {
      const faults = compilerFaults(path);
      if (faults === undefined) return context.skip("There is no compiler: the linter of these tests takes its place.");
      expect(faults).toEqual([]);
    },
  );

  let commands: FakeCommands | undefined;
  afterEach(() => commands?.remove());
  const faultsWith = (sources: Readonly<Record<string, string>>) => {
    commands = fakeCommands(sources);
    return compilerFaults("a.bicep", { PATH: `${commands.directory}${delimiter}/usr/bin` });
  };
  const warning = "a.bicep(1,7) : Warning no-unused-params: Parameter is declared but never used.";

  it("is found as bicep or as az bicep, and each of its lines counts", () => {
    const bicep = `if (process.argv[2] === "--version") process.exit(0); console.error(${JSON.stringify(warning)});`;
    expect(faultsWith({ bicep })).toEqual([warning]);
    commands?.remove();
    const az = `if (process.argv[3] === "version") process.exit(0); console.error(${JSON.stringify(warning)});`;
    expect(faultsWith({ az })).toEqual([warning]);
  });

  it("counts as failed where it ends without a word of the template", () => {
    const bicep = 'if (process.argv[2] === "--version") process.exit(0); console.error("killed"); process.exit(137);';
    expect(faultsWith({ bicep })).toEqual(["killed\n"]);
  });

  it("is missing where neither command works", () => {
    expect(faultsWith({ az: "process.exit(2);" })).toBeUndefined();
  });
});
