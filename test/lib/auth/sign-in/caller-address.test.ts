import { describe, expect, it } from "vitest";
import { addressGroup, isAddressEntry, parseAllowList } from "../../../../lib/auth/sign-in/caller-address.ts";

describe("attempts of one caller address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["192.0.2.1:4711", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["[::ffff:c000:201]:4711", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::ffff", "2001:db8:1:2::/64"],
    ["[2001:0db8:0001:0002::1]:443", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8:1:2:0:0:0:0", "2001:db8:1:2::/64"],
    ["2001:0:0:2::", "2001:0:0:2::/64"],
    ["", undefined],
    ["unknown", undefined],
    ["fe80::1%eth0", undefined],
    ["192.0.2.256", undefined],
  ])("from %j are counted under %j", (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});

describe("the allow-list of caller addresses", () => {
  const spared = parseAllowList(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::1"]);

  it.each(["10.1.2.3", "10.1.2.3:99", "::ffff:10.1.2.3", "192.0.2.7", "2001:db8:ffff::1", "::1"])(
    "spares %s",
    address => {
      expect(spared(address)).toBe(true);
    },
  );

  it.each(["11.0.0.1", "192.0.2.8", "2001:db9::1", "", "unknown"])("does not spare %j", address => {
    expect(spared(address)).toBe(false);
  });

  it("takes addresses and networks and nothing else", () => {
    for (const entry of ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::1", "0.0.0.0/0"]) {
      expect(isAddressEntry(entry)).toBe(true);
      expect(() => parseAllowList([entry])).not.toThrow();
    }
    for (const entry of ["", "10.0.0.0/33", "10.0.0", "::/129", "example.com", "10.0.0.0/", "10.0.0.0/8/8"]) {
      expect(isAddressEntry(entry)).toBe(false);
    }
  });
});
