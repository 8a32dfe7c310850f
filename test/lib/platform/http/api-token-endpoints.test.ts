import { describe, expect, it } from "vitest";
import { apiTokenEndpoints } from "../../../../lib/platform/http/api-token-endpoints.ts";

const accepts = (name: string): boolean | undefined =>
  apiTokenEndpoints("core").coreCreateApiToken?.body?.safeParse({ name }).success;

describe("the name of a static API token", () => {
  it("is one line of text in any script", () => {
    for (const name of ["billing", "Rechnungsprüfung 2", "請求"]) expect(accepts(name), name).toBe(true);
  });

  it("has no control, invisible or direction characters and no line breaks, because the list of tokens is printed in terminals", () => {
    for (const name of ["a\nb", "a\u001b[2Kb", "a\u0085b", "a\u2028b", "billing\u200b", "\u202egnillib"])
      expect(accepts(name), JSON.stringify(name)).toBe(false);
  });
});
