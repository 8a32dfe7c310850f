import { expect, it } from "vitest";
import { connectorSettings } from "../../../lib/connector/settings.ts";
import { BadSettings, readSettings, settingsSchema } from "../../../lib/platform/settings/read-settings.ts";

const { EVENT_SINK_URLS, EVENT_SINK_TYPES, EVENT_RETRY_HOURS, EVENT_SINK_ALLOW_PRIVATE } = connectorSettings.shape;
const schema = settingsSchema({
  EVENT_SINK_URLS,
  EVENT_SINK_TYPES,
  EVENT_RETRY_HOURS,
  EVENT_SINK_ALLOW_PRIVATE,
});
const local = { CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" };

it("has no event sink by default, and tries a delivery for three days", () => {
  expect(readSettings(schema, {})).toEqual({
    EVENT_SINK_URLS: [],
    EVENT_SINK_TYPES: [],
    EVENT_RETRY_HOURS: 72,
    EVENT_SINK_ALLOW_PRIVATE: false,
  });
});

it.each([
  [
    "https://a.example/hook, none,https://b.example/hook?x=1",
    {},
    ["https://a.example/hook", "none", "https://b.example/hook?x=1"],
  ],
  ["http://127.0.0.1:8080/hook", local, ["http://127.0.0.1:8080/hook"]],
])("accepts the event sinks %s", (text, environment, urls) => {
  expect(readSettings(schema, { ...environment, EVENT_SINK_URLS: text }).EVENT_SINK_URLS).toEqual(urls);
});

it.each([
  ["http://a.example/hook", local, "https"],
  ["http://127.0.0.1:8080/hook", {}, "local runs only"],
  ["https://user:word@a.example/hook", {}, "without credentials"],
  ["a.example", {}, "https"],
  ["https://a.example/hook,https://a.example/hook", {}, "twice"],
  ["none,none,none,none,none,https://a.example", {}, "at most 5"],
])("rejects the event sinks %s, and names the setting", (text, environment, reason) => {
  const read = () => readSettings(schema, { ...environment, EVENT_SINK_URLS: text });
  expect(read).toThrow(BadSettings);
  expect(read).toThrow(/EVENT_SINK_URLS/);
  expect(read).toThrow(reason);
});

it.each(["0", "721", "a day"])("rejects the retry time %s, and names the setting", text => {
  expect(() => readSettings(schema, { EVENT_RETRY_HOURS: text })).toThrow(/EVENT_RETRY_HOURS/);
});

it("gives a sink the types of events that its entry names, and all without one", () => {
  const text = "all, credential.failed+pin_mail.given_up";
  expect(readSettings(schema, { EVENT_SINK_TYPES: text }).EVENT_SINK_TYPES).toEqual([
    undefined,
    ["credential.failed", "pin_mail.given_up"],
  ]);
});

it.each(["credential.lost", "all+request.ended", "request.ended request.started"])(
  "rejects the types %s, and names the setting and the types",
  text => {
    const read = () => readSettings(schema, { EVENT_SINK_TYPES: text });
    expect(read).toThrow(/EVENT_SINK_TYPES/);
    expect(read).toThrow(/pin_mail\.given_up/);
  },
);
