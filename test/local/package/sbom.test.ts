import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { billOfMaterials, checksums } from "../../../local/package/sbom.ts";

describe("the bill of materials", () => {
  const text = billOfMaterials(".");
  const { bomFormat, components, metadata, serialNumber } = JSON.parse(text);
  const names: readonly string[] = components.map(({ name, group }: { name: string; group?: string }) =>
    group === undefined ? name : `${group}/${name}`,
  );

  it("names every direct dependency with its locked version and licence, and no tool of development", () => {
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(bomFormat).toBe("CycloneDX");
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    for (const tool of ["tests", "vitest", "typescript", "azurite", "esbuild"]) expect(names).not.toContain(tool);
    const jose = components.find(({ name }: { name: string }) => name === "jose");
    expect(jose).toMatchObject({ version: dependencies.jose, licenses: [{ license: { id: "MIT" } }] });
  });

  it("is the same for the same checkout, and names the project and not the folder", () => {
    expect(billOfMaterials(".")).toBe(text);
    expect(serialNumber).toBeUndefined();
    expect(metadata.component.name).toBe("fido-credential-backend");
  });
});

it("checksums are lines that sha256sum reads", () => {
  const hash = (content: string) => createHash("sha256").update(content).digest("hex");
  const files = new Map<string, Uint8Array | string>([
    ["package.zip", Buffer.from("a")],
    ["package.cdx.json", "b"],
  ]);
  expect(checksums(files)).toBe(`${hash("a")}  package.zip\n${hash("b")}  package.cdx.json\n`);
});
