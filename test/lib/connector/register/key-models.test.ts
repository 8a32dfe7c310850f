import { expect, test } from "vitest";
import { keyModelOf } from "../../../../lib/connector/api/list-security-keys.ts";

test("a model has the name of the FIDO Metadata Service, and an unknown one has none", () => {
  expect(keyModelOf("fa2b99dc-9e39-4257-8f92-4a30d23c4118")).toBe("YubiKey 5 Series with NFC");
  expect(keyModelOf("c1f9a0bc-1dd2-404a-b27f-8e29047a43fd")).toBe("YubiKey 5 FIPS Series with NFC");
  expect(keyModelOf("5a1e7c3d-0b6f-4d92-9c48-e3f1a27b6d05")).toBeUndefined();
});
