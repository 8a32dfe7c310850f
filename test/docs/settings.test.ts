import { describe, expect, it } from "vitest";
import { describeSettings } from "../../local/generate/describe-settings.ts";
import { settingSchemas } from "../../local/generate/settings-files.ts";

/** Names of the settings that need not be set and do not say when a person sets them. A required one is always set. */
const unexplained = (settings: ReturnType<typeof describeSettings>): string[] =>
  settings
    .filter(
      ({ description, required }) =>
        !required && !/(^|[.;:] )Set it (to|if|so|in|before|higher|lower|together|for|unless)\b/.test(description),
    )
    .map(({ name }) => name);

describe("the description of a setting", () => {
  const settings = Object.values(settingSchemas).flatMap(schema => describeSettings(schema));

  it("says when a person sets it", () => {
    expect(settings.length).toBeGreaterThan(80);
    expect(unexplained(settings)).toEqual([]);
  });
});
