import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { idpKinds, variablesOf } from "../../../../lib/connector/idp/kinds.ts";
import { closePeers, idpFile, startPeers } from "../../../../local/peers/all.ts";

const types = idpKinds.map(({ type }) => type);

describe.each(idpKinds.map(kind => [kind.type, kind] as const))("the kind %s", (_, kind) => {
  const variables = variablesOf(kind);

  test("has a description of each of its environment variables", () => {
    for (const { name, description } of variables) {
      expect(name).toMatch(/^IDP[A-Z]_[A-Z0-9_]+$/);
      expect(description).toMatch(/\.$/);
    }
  });

  test("shows in status only settings that it has", () => {
    const keys = ["type", ...Object.keys(kind.settings.shape)];
    expect(keys).toEqual(expect.arrayContaining([...kind.statusKeys, ...(kind.statusKeysV1 ?? [])]));
  });

  test("names the numbers that status leaves out if they are not set", () => {
    const isOptionalNumber = (key: string) => {
      const { isOptional, parse } = kind.settings.shape[key] ?? {};
      return (
        isOptional === true &&
        ["5", "5000"].map(text => parse?.(text)).some(read => read?.ok && read.value === Number(read.value))
      );
    };
    expect(kind.statusNumbers).toEqual(kind.statusKeys.filter(isOptionalNumber));
  });
});

test.each(idpKinds.map(({ type, letter }) => [type, letter]))(
  "the kind %s has a page, and its letter in the table of kinds and in the decision about them",
  (type, letter) => {
    const page = `docs/peers/${type}.md`;
    expect(existsSync(page), page).toBe(true);
    expect(readFileSync("docs/identity-providers.md", "utf8")).toMatch(
      new RegExp(`^\\| ${letter} \\| \`${type}\` \\|`, "m"),
    );
    const [, decision = ""] = readFileSync("docs/decisions/connector.md", "utf8").split("\n## C13\n");
    const [kinds = ""] = decision.split("\n- ");
    expect(kinds).toMatch(new RegExp(`\\b${letter}\\s(?:is\\s)?\`${type}\``));
  },
);

test("every kind is in the IdP file of the local system", async () => {
  const peers = await startPeers();
  onTestFinished(() => closePeers(peers));
  const configured = Object.values(parse(idpFile(peers)) as Record<string, { readonly type: string }>);
  expect(configured.map(({ type }) => type).sort()).toEqual([...types].sort());
});

test("a kind has environment variables for all of its settings, or for none", () => {
  for (const kind of idpKinds) {
    const keys = ["type", ...Object.keys(kind.settings.shape)];
    expect([0, keys.length - 1]).toContain(variablesOf(kind).length);
  }
});

test("kinds share no letter and no environment variable", () => {
  const letters = idpKinds.map(({ letter }) => letter);
  const names = idpKinds.flatMap(variablesOf).map(({ name }) => name);
  expect(new Set(letters).size).toBe(letters.length);
  expect(new Set(names).size).toBe(names.length);
});

/** Returns the kinds that deployed code names outside the folder of the kind and the table of kinds. */
function kindsNamedIn(path: string, code: string): readonly string[] {
  if (path === "lib/connector/idp/kinds.ts") return [];
  const others = types.filter(type => !path.startsWith(`lib/connector/idp/${type}/`));
  return others.filter(type => code.includes(`"${type}"`) || new RegExp(`from ".*/${type}/`).test(code));
}

describe("a kind of IdP", () => {
  it("is named only in its own folder and in the table of kinds", () => {
    const files = globSync("{lib,functions}/**/*.ts").map(path => path.replaceAll("\\", "/"));
    expect(files.length).toBeGreaterThan(200);
    expect(
      files.flatMap(path => kindsNamedIn(path, readFileSync(path, "utf8")).map(type => `${path}: ${type}`)),
    ).toEqual([]);
  });

  it.each([
    ["a comparison", "functions/connector/start/open-context.ts", 'if (idp.type === "entra") connect();'],
    ["an import", "lib/connector/settings.ts", 'import { entra } from "./idp/entra/entra.ts";'],
    ["an import by another kind", "lib/connector/idp/aic/aic.ts", 'import { wire } from "../entra/wire.ts";'],
  ])("is found where %s names it", (_, path, code) => {
    expect(kindsNamedIn(path, code)).toEqual(["entra"]);
  });
});
