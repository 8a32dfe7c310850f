import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { currentBundle } from "./host-bundle.ts";

test("a bundle is used again only while each of its inputs has the same content", () => {
  const folder = mkdtempSync(join(tmpdir(), "bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [recordPath, source] = [join(folder, "latest.json"), join(folder, "source.ts")];
  expect(currentBundle(recordPath)).toBeUndefined();
  const write = (content: string) => writeFileSync(source, content);
  write("1");
  const inputs = { [source]: createHash("sha256").update("1").digest("base64") };
  writeFileSync(recordPath, JSON.stringify({ folder, inputs }));
  expect(currentBundle(recordPath)).toBe(folder);
  write("2");
  expect(currentBundle(recordPath)).toBeUndefined();
  write("1");
  expect(currentBundle(recordPath)).toBe(folder);
  rmSync(source);
  expect(currentBundle(recordPath)).toBeUndefined();
  write("1");
  writeFileSync(recordPath, JSON.stringify({ folder: join(folder, "gone"), inputs }));
  expect(currentBundle(recordPath)).toBeUndefined();
});
