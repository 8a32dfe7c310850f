import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { describeSettings } from "../../../local/generate/describe-settings.ts";
import { hostSettings, settingSchemas, settingsFiles } from "../../../local/generate/settings-files.ts";

const settings = Object.values(settingSchemas).flatMap(describeSettings);
const sample = JSON.parse(readFileSync("local.settings.sample.json", "utf8"));

it.each(Object.entries(settingsFiles()))("%s is what the schemas say; `npm run settings` writes it", (path, text) => {
  expect(readFileSync(path, "utf8")).toBe(text);
});

it("every setting has a description and a name of its own", () => {
  expect(settings.length).toBeGreaterThan(50);
  for (const { name, description } of settings) expect(description, name).toMatch(/^[A-Z].*\.$/);
  expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length);
});

it("the sample names exactly the settings there are, and the host's own", () => {
  expect(sample.IsEncrypted).toBe(false);
  expect(Object.keys(sample.Values).sort()).toEqual(
    [...Object.keys(hostSettings), ...settings.map(({ name }) => name)].sort(),
  );
  expect(sample.Values).toMatchObject({
    FUNCTIONS_WORKER_RUNTIME: "node",
    AzureWebJobsStorage: "UseDevelopmentStorage=true",
  });
});

it("the sample contains only texts, each a default or empty, so it contains no secret", () => {
  const defaults = Object.fromEntries(settings.map(({ name, defaultText = "" }) => [name, defaultText]));
  const { SERVICE_APIS, ...others } = sample.Values;
  expect(others).toEqual({ ...hostSettings, ...defaults, SERVICE_APIS: undefined });
  expect(SERVICE_APIS).toBe("core,client,connector");
});

it("no schema that the app reads is left out", () => {
  const edge = readdirSync("functions", { recursive: true, encoding: "utf8" }).filter(name => name.endsWith(".ts"));
  const code = edge.map(name => readFileSync(`functions/${name}`, "utf8")).join("\n");
  const read = new Set(
    [...code.matchAll(/(?:readSettings|validSettings)\((\w+Settings),/g)].map(([, name = ""]) => name),
  );
  expect(read.size).toBeGreaterThanOrEqual(Object.keys(settingSchemas).length);
  const text = readFileSync("local/generate/settings-files.ts", "utf8");
  for (const name of read) expect(text).toMatch(new RegExp(`: ${name}\\b`));
});
