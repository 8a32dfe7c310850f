import { describe, expect, it } from "vitest";

const { addressProblems } = (await import("../../../infra/hooks/addresses.mjs" as string)) as {
  addressProblems(environment: Readonly<Record<string, string>>): readonly string[];
};
const { contains, firstIn, overlap, parseRange } = (await import("../../../infra/hooks/ranges.mjs" as string)) as {
  contains(outer: unknown, inner: unknown): boolean;
  firstIn(range: unknown, length: number): { readonly text: string } | undefined;
  overlap(one: unknown, other: unknown): boolean;
  parseRange(text?: string): { readonly bits: number } | undefined;
};

const subnet = (name: string) =>
  `/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/hub/subnets/${name}`;

describe("an address range", () => {
  it("is an address and a prefix length, and begins with its first address", () => {
    for (const text of [
      "10.90.0.0/23",
      " 203.0.113.7/32 ",
      "0.0.0.0/0",
      "2001:db8::/32",
      "2001:DB8::ffff:1/128",
      "::/0",
    ])
      expect(parseRange(text), text).toBeDefined();
    for (const text of [
      "",
      "10.90.0.0",
      "10.90.0.0/33",
      "10.90.0/24",
      "10.90.0.1/24",
      "a/24",
      "2001:db8::/129",
      "2001:db8::1/64",
      "1.2.3.4/",
    ])
      expect(parseRange(text), text).toBeUndefined();
  });

  it("is compared with another one of its family", () => {
    const [all, part, other, six] = ["10.0.0.0/8", "10.90.0.0/24", "10.90.1.0/24", "2001:db8::/32"].map(parseRange);
    expect([contains(all, part), contains(part, all), contains(part, other), contains(all, six)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect([overlap(all, part), overlap(part, all), overlap(part, other)]).toEqual([true, true, false]);
    expect([firstIn(all, 24)?.text, firstIn(part, 23)]).toEqual(["10.0.0.0/24", undefined]);
  });
});

describe("a value that Azure would refuse in the middle of a deployment", () => {
  const additional = (list: string, more: object = {}) => ({ ADDITIONAL_SUBNETS: list, ...more });

  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ["a proxy's address without a length", { PROXY_SOURCE: "203.0.113.7" }, "write 203.0.113.7/32"],
    ["such an address in a list", { PROXY_SOURCE: "203.0.113.0/24,2001:db8::7" }, "write 2001:db8::7/128"],
    [
      "a service tag in a list",
      { PROXY_SOURCE: "AzureFrontDoor.Backend,203.0.113.0/24" },
      "one service tag, or address",
    ],
    [
      "more ranges than a rule takes",
      { CORE_DEPLOY_RANGE: Array(9).fill("203.0.113.7/32").join() },
      "up to 8 address ranges",
    ],
    ["bits of a host", { CORE_DEPLOY_RANGE: "203.0.113.7/24" }, "write 203.0.113.0/24"],
    ["bits of a host of IPv6", { PROXY_SOURCE: "2001:db8:0:5::7/62" }, "write 2001:db8:0:4::/62"],
    ["a length beyond IPv6", { PROXY_SOURCE: "2001:db8::/129" }, "no prefix length that fits"],
    ["a name as a range", { CORE_DEPLOY_RANGE: "office" }, "is no address range"],
    [
      "a list for operators",
      { OPERATOR_RANGE: "10.0.0.0/24,10.0.1.0/24" },
      "OPERATOR_RANGE takes one address range, not 2",
    ],
    ["a space in a list", { CORE_DEPLOY_RANGE: "203.0.113.7/32, 203.0.113.8/32" }, "write it without spaces"],
    ["IPv6 for operators", { OPERATOR_RANGE: "2001:db8::/32" }, "IPv4 addresses only"],
    ["a length that does not fit", { OPERATOR_RANGE: "10.0.0.0/40" }, "no prefix length that fits"],
    ["a network of /25", { NETWORK_PREFIX: "10.90.0.0/25" }, "NETWORK_PREFIX 10.90.0.0/25 is too small"],
    ["a network of /25 in one of yours", { NETWORK_PREFIX: "10.90.0.0/25", NETWORK_ID: "/network" }, "is too small"],
    ["a network of IPv6", { NETWORK_PREFIX: "2001:db8::/32" }, "give an IPv4 range"],
    ["a subnet outside of the network", additional("a=10.91.0.0/27"), "outside of NETWORK_PREFIX 10.90.0.0/23"],
    ["a subnet in the template's own /24", additional("a=10.90.0.224/27"), "overlaps with 10.90.0.0/24"],
    ["subnets that overlap", additional("a=10.90.1.0/26,b=10.90.1.32/27"), "b=10.90.1.32/27 overlaps with a."],
    ["a subnet that is too small", additional("a=10.90.1.0/30"), "Azure needs /29 or more"],
    ["a Bastion that is too small", additional("AzureBastionSubnet=10.90.1.0/27"), "Azure needs /26 or more"],
    ["a name twice", additional("a=10.90.1.0/27,a=10.90.1.32/27"), "names a twice"],
    ["a name of the template's", additional("core=10.90.1.0/27"), "the template has a subnet of this name"],
    ["a subnet that is no range", additional("a=10.90.1.0"), 'a: "10.90.1.0" is an address without a prefix length'],
    [
      "an underscore in the name of an app's subnet",
      { SUBNET_ID_CORE: subnet("snet_core") },
      "has an underscore in its name",
    ],
    ["a name as the id of a subnet", { SUBNET_ID_CLIENT: "snet-client" }, "is no id of a subnet"],
    ["a scheme in the domain", { MAIL_DOMAIN: "https://keys.example.com" }, "without https://"],
    ["an address as the domain", { MAIL_DOMAIN: "pin@example.com" }, "is no domain"],
    ["a domain of one label", { MAIL_DOMAIN: "keys" }, "is no domain"],
    ["addresses that semicolons separate", { ALERT_MAIL_TO: "a@example.com;b@example.com" }, "separated by commas"],
  ])("is refused: %s", (_, environment, problem) => {
    expect(addressProblems(environment)).toEqual([expect.stringContaining(problem)]);
  });

  it.each<readonly [string, Readonly<Record<string, string>>]>([
    ["nothing", {}],
    ["a service tag", { PROXY_SOURCE: "AzureFrontDoor.Backend" }],
    ["ranges", { PROXY_SOURCE: "203.0.113.0/24,2001:db8::/32", CORE_DEPLOY_RANGE: "203.0.113.7/32,203.0.113.8/32" }],
    ["subnets beside the template's", additional("a=10.90.1.0/27, AzureBastionSubnet=10.90.1.64/26")],
    ["a larger network", additional("a=10.7.200.0/24", { NETWORK_PREFIX: "10.7.0.0/16" })],
    ["an underscore in the name of a subnet of endpoints", { SUBNET_ID_AUTH_ENDPOINTS: subnet("snet_auth") }],
    ["anything about the network in a trial", { TRIAL: "true", NETWORK_PREFIX: "10.0.0.0/30", SUBNET_ID_CORE: "x" }],
    ["mail", { MAIL_DOMAIN: "keys.example.com", ALERT_MAIL_TO: "a@example.com, b+c@mail.example.com" }],
  ])("is accepted: %s", (_, environment) => {
    expect(addressProblems(environment)).toEqual([]);
  });
});
