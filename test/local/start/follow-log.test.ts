import { expect, test } from "vitest";
import { createLogReader } from "../../../local/start/follow-log.ts";

test("passes on lines of the app and warnings of the host, in whatever pieces they arrive", () => {
  const lines: string[] = [];
  const read = createLogReader((level, text) => lines.push(`${level} ${text}`));
  const log = [
    "info: Host.Startup[0]",
    "      Job host started",
    "info: Host.Function.Console[0]",
    '      {"event":"http"}',
    "warn: Host.Startup[0]",
    "      No job functions found.",
    "fail: Function.seen[3]",
    "      Executed (Failed)",
    "         at line 1",
    "info: Function.seen[1]",
    "      Executing",
    "",
  ].join("\n");
  for (let at = 0; at < log.length; at += 7) read(log.slice(at, at + 7));
  expect(lines).toEqual([
    'info {"event":"http"}',
    "warn No job functions found.",
    "error Executed (Failed)",
    "error at line 1",
  ]);
});
