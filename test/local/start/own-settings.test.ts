import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ownSettings } from "../../../local/start/own-settings.ts";
import { emptyDirectory, endAll } from "./start-process.ts";

afterAll(endAll);

const file = (text: string): string => {
  const path = join(emptyDirectory(), "local.settings.json");
  writeFileSync(path, text);
  return path;
};

test("returns no settings without a file", () => {
  expect(ownSettings(join(emptyDirectory(), "local.settings.json"))).toEqual({});
});

test("returns values as texts, without empty ones and repeated defaults", () => {
  const Values = {
    POLL_AFTER_SECONDS: 120,
    PIN_MAIL_DOMAINS: "example.com",
    CLOUD_TENANT_ID: " ",
    EVENT_RETRY_HOURS: "72",
  };
  expect(ownSettings(file(`\uFEFF${JSON.stringify({ IsEncrypted: false, Values })}`))).toEqual({
    POLL_AFTER_SECONDS: "120",
    PIN_MAIL_DOMAINS: "example.com",
  });
});

test("returns only the settings of the host for a copy of the sample", () => {
  const sample = readFileSync(join(import.meta.dirname, "../../../local.settings.sample.json"), "utf8");
  expect(Object.keys(ownSettings(file(sample)))).toEqual([
    "FUNCTIONS_WORKER_RUNTIME",
    "AzureWebJobsStorage",
    "AzureWebJobsDisableHomepage",
    "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "SERVICE_APIS",
  ]);
});

test.each(["{", "[]", '{"Values": {"A": {}}}'])("names a file that is not a settings file: %s", text => {
  expect(() => ownSettings(file(text))).toThrow(/local\.settings\.json is not a settings file/);
});
