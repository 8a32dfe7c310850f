import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { CaseName } from "./cases.ts";
import { isolationFaults } from "./isolation.ts";
import { valueAt } from "./json.ts";
import { appSettings, changed, type Deployment, deployed, ofType, outline, siteOf, token } from "./templates.ts";

const store = "Microsoft.Storage/storageAccounts";
const vault = "Microsoft.KeyVault/vaults";
const subnet = "Microsoft.Network/virtualNetworks/subnets";

describe("every door that is to be closed", () => {
  it.each(["base", "static-tokens", "ranges", "proxies", "client-proxy", "prod"] as const)("is closed: %s", name => {
    expect(isolationFaults(deployed(name))).toEqual([]);
  });

  // All else is a fault where its value is missing.
  it.each([
    [
      "subnets of endpoints",
      subnet,
      "properties.delegations",
      [{ properties: { serviceName: "a" } }],
      "auth-endpoints is d",
    ],
    [
      "access logs",
      "Microsoft.Insights/diagnosticSettings",
      "properties.logs",
      [{ categoryGroup: "allLogs", enabled: true }],
      "a group of categories is coll",
    ],
  ])("is found open: %s", (_, type, path, value, expected) => {
    expect(isolationFaults(changed(deployed(), type, path, value)).join("\n")).toContain(expected);
  });

  it("is for secrets that each run would write again: a vault gets a secret only where it has none", () => {
    const secrets = Object.entries(outline["main.bicep"].order).filter(([, { type }]) => type === `${vault}/secrets`);
    expect(secrets).toHaveLength(6);
    for (const [name, { options }] of secrets) expect(options, name).toEqual({ onlyIfNotExists: [] });
  });
});

const without = (text: string) => text.replace(`-${token}`, "").replace(token, "");

/** Who may do what, where, in short words. */
function grantsOf(deployment: Deployment): readonly string[] {
  const roleNames: Readonly<Record<string, string>> = {
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
    "4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
    "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": "Key Vault Secrets Officer",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
    "09976791-48a7-449e-bb21-39d1a415f350": "Communication and Email Service Owner",
  };
  return ofType(deployment, "Microsoft.Authorization/roleAssignments")
    .map(({ id, body }) => {
      const [, who] = /userAssignedIdentities\/id-(\w+)/.exec(String(valueAt(body.properties, "principalId"))) ?? [];
      const role = String(valueAt(body.properties, "roleDefinitionId")).split("/").at(-1) ?? "";
      // [extensionResourceId('<scope>', 'Microsoft.Authorization/roleAssignments', guid(…))]
      const [, scope = ""] = /^\[extensionResourceId\('([^']+)'/.exec(id) ?? [];
      const condition = String(valueAt(body.properties, "condition") ?? "");
      const except = [...condition.matchAll(/StringNotEquals '([^']+)'/g)].map(([, name]) => ` but ${name}`).join("");
      return `${who}: ${roleNames[role] ?? role} on ${without(scope.split("/").at(-1) ?? "")}${except}`;
    })
    .sort();
}

interface Rule {
  readonly properties: {
    readonly priority: number;
    readonly access: string;
    readonly sourceAddressPrefix?: string;
    readonly sourceAddressPrefixes?: readonly string[];
    readonly destinationPortRange: string;
  };
}

describe("least privilege", () => {
  const usual = [
    "client: Key Vault Secrets User on kv-auth",
    "client: Monitoring Metrics Publisher on appi",
    "client: Storage Blob Data Owner on stauth but package-core but backups",
    "client: Storage Table Data Contributor on stauth",
    "connector: Communication and Email Service Owner on acs",
    "connector: Key Vault Secrets User on kv-conn",
    "connector: Monitoring Metrics Publisher on appi",
    "connector: Storage Blob Data Owner on stconn",
    "connector: Storage Table Data Contributor on stconn",
    "core: Key Vault Secrets User on kv-auth",
    "core: Monitoring Metrics Publisher on appi",
    "core: Storage Blob Data Owner on stauth",
    "core: Storage Table Data Contributor on stauth",
  ];

  it("gives each app what it needs in its own service, and nothing in the other", () => {
    expect(grantsOf(deployed())).toEqual(usual);
  });

  it("keeps the public app from every call on the blobs of Core's package and of backups, by a condition that Azure knows", () => {
    const conditions = ofType(deployed(), "Microsoft.Authorization/roleAssignments")
      .filter(({ body }) => typeof valueAt(body.properties, "condition") === "string")
      .map(({ body }) => body.properties as Readonly<Record<string, unknown>>);
    expect(conditions.map(({ conditionVersion }) => conditionVersion)).toEqual(["2.0"]);
    const of = (action: string) =>
      `!(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/${action}'})`;
    const not = (name: string) =>
      `@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals '${name}'`;
    const actions = ["read", "write", "add/action", "delete", "runAsSuperUser/action"].map(of).join(" AND ");
    const others = [not("package-core"), not("backups")].join(" AND ");
    expect(conditions[0]?.condition).toBe(`((${actions}) OR (${others}))`);
    const containers = ofType(deployed(), `${store}/blobServices/containers`)
      .filter(({ name }) => name.startsWith("stauth"))
      .map(({ last }) => last);
    expect(containers).toEqual(expect.arrayContaining(["package-core", "backups"]));
  });

  it("lets an app write the one secret of its static tokens, where there are such tokens", () => {
    const more = [
      "connector: Key Vault Secrets Officer on connector-api-tokens",
      "core: Key Vault Secrets Officer on core-api-tokens",
    ];
    expect(grantsOf(deployed("static-tokens"))).toEqual([...usual, ...more].sort());
  });

  it("has an identity, a plan, a subnet, a package and a host id for each app", () => {
    const deployment = deployed();
    const sites = ofType(deployment, "Microsoft.Web/sites");
    const own = (path: string) => new Set(sites.map(({ body }) => JSON.stringify(valueAt(body, path))));
    for (const path of [
      "identity.userAssignedIdentities",
      "properties.serverFarmId",
      "properties.virtualNetworkSubnetId",
    ]) {
      expect(own(path).size, path).toBe(3);
    }
    expect(own("properties.functionAppConfig.deployment.storage.value").size).toBe(3);
    const ids = ["core", "client", "connector"].map(api => appSettings(deployment, api).AzureFunctionsWebHost__hostid);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[a-z0-9-]{1,32}$/);
  });

  /** The rules of a security group: access, source, port. */
  const rulesOf = (group: string, name: CaseName = "base") =>
    ofType(deployed(name), "Microsoft.Network/networkSecurityGroups")
      .filter(each => each.name.endsWith(`-${group}`))
      .flatMap(({ body }) => valueAt(body.properties, "securityRules") as readonly Rule[])
      .toSorted((one, other) => one.properties.priority - other.properties.priority)
      .map(({ properties: { access, sourceAddressPrefix, sourceAddressPrefixes, destinationPortRange } }) => [
        access,
        sourceAddressPrefixes ?? sourceAddressPrefix,
        destinationPortRange,
      ]);
  const others = ["Deny", "*", "*"];
  const subnetOf = (name: string) => ofType(deployed(), subnet).find(({ last }) => last === name)?.body;
  const prefixOf = (name: string) => valueAt(subnetOf(name), "properties.addressPrefix");

  it("keeps the other service from a service's endpoints in the network too, and the public apps from Core", () => {
    expect(rulesOf("auth-endpoints")).toEqual([["Allow", [prefixOf("core"), prefixOf("client")], "443"], others]);
    expect(rulesOf("connector-endpoints")).toEqual([["Allow", [prefixOf("connector")], "443"], others]);
    expect(rulesOf("core-endpoint")).toEqual([["Deny", [prefixOf("client"), prefixOf("connector")], "*"]]);
    for (const name of ["core-endpoint", "auth-endpoints", "connector-endpoints"]) {
      expect(valueAt(subnetOf(name), "properties.networkSecurityGroup.id")).toMatch(new RegExp(`${name}$`));
      expect(valueAt(subnetOf(name), "properties.privateEndpointNetworkPolicies")).toBe("NetworkSecurityGroupEnabled");
    }
  });

  it("lets operators' machines, where a range is named, reach the endpoints of both services on the port of TLS, and no other source", () => {
    for (const group of ["auth-endpoints", "connector-endpoints"]) {
      const [apps, ...rest] = rulesOf(group);
      expect(rulesOf(group, "ranges")).toEqual([apps, ["Allow", "10.90.1.0/27", "443"], ...rest]);
    }
    expect(rulesOf("core-endpoint", "ranges")).toEqual(rulesOf("core-endpoint"));
    for (const name of ["base", "ranges"] as const) expect(rulesOf("apps", name)).toEqual([]);
  });

  it("puts no two subnets in one place", () => {
    const ranges = ofType(deployed(), "Microsoft.Network/virtualNetworks/subnets").map(({ body }) => {
      const [address = "", bits = ""] = String(valueAt(body.properties, "addressPrefix")).split("/");
      const first = address.split(".").reduce((all, byte) => all * 256 + Number(byte), 0);
      return { first, last: first + 2 ** (32 - Number(bits)) - 1 };
    });
    for (const [position, one] of ranges.entries()) {
      for (const other of ranges.slice(position + 1))
        expect(one.last < other.first || other.last < one.first).toBe(true);
    }
    expect(ranges.length).toBe(6);
  });
});

describe("Core", () => {
  const coreOf = (name: CaseName) => siteOf(deployed(name), "core").body.properties;

  it("answers inside the network alone", () => {
    expect(valueAt(coreOf("base"), "publicNetworkAccess")).toBe("Disabled");
    expect(valueAt(coreOf("base"), "siteConfig.scmIpSecurityRestrictions")).toEqual([]);
  });

  it("takes a package from one address range, on its deployment site alone, where one is named", () => {
    const core = coreOf("ranges");
    expect(valueAt(core, "publicNetworkAccess")).toBe("Enabled");
    expect(valueAt(core, "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    expect(valueAt(core, "siteConfig.scmIpSecurityRestrictions")).toEqual([
      expect.objectContaining({ action: "Allow", ipAddress: "203.0.113.7/32" }),
    ]);
    expect(valueAt(core, "siteConfig.ipSecurityRestrictions")).toEqual([]);
  });

  it("answers one address range too until its first user is there, where one is named", () => {
    const core = coreOf("setup");
    expect(isolationFaults(deployed("setup"))).toEqual([expect.stringContaining("Core is open to the internet")]);
    expect(valueAt(core, "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    for (const list of ["ipSecurityRestrictions", "scmIpSecurityRestrictions"])
      expect(valueAt(core, `siteConfig.${list}`)).toEqual([
        expect.objectContaining({ action: "Allow", ipAddress: "203.0.113.7/32" }),
      ]);
  });

  it("leaves Client and the connector as they are", () => {
    const others = (name: CaseName) => ["client", "connector"].map(api => siteOf(deployed(name), api));
    for (const name of ["ranges", "setup"] as const) expect(others(name)).toEqual(others("base"));
    for (const { body } of others("base")) expect(valueAt(body.properties, "publicNetworkAccess")).toBe("Enabled");
  });
});

describe("a proxy before Client and the connector", () => {
  const frontDoor = "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a";
  const access = (name: CaseName, api: string) => {
    const deployment = deployed(name);
    const { properties } = siteOf(deployment, api).body;
    const { TRUSTED_PROXIES, PROXY_ID, PROXY_ID_HEADER } = appSettings(deployment, api);
    return {
      otherwise: valueAt(properties, "siteConfig.ipSecurityRestrictionsDefaultAction"),
      rules: valueAt(properties, "siteConfig.ipSecurityRestrictions"),
      deploying: valueAt(properties, "siteConfig.scmIpSecurityRestrictionsDefaultAction"),
      settings: [TRUSTED_PROXIES, PROXY_ID, PROXY_ID_HEADER],
    };
  };
  const rule = { name: "proxy", priority: 100, action: "Allow" };
  const direct = { otherwise: "Allow", rules: [], deploying: "Allow", settings: ["1", "", "X-Azure-FDID"] };

  it.each([
    ["client", "proxies", "2"],
    ["connector", "connector-proxy", "3"],
  ] as const)("is the only way to %s where its id is given: by service tag and id", (api, name, trusted) => {
    expect(access(name, api)).toEqual({
      otherwise: "Deny",
      rules: [
        expect.objectContaining({
          ...rule,
          tag: "ServiceTag",
          ipAddress: "AzureFrontDoor.Backend",
          headers: { "x-azure-fdid": [frontDoor] },
        }),
      ],
      deploying: "Allow",
      settings: [trusted, frontDoor, "X-Azure-FDID"],
    });
    expect(access("base", api)).toEqual(direct);
    expect(access(name, "core")).toEqual(access("base", "core"));
  });

  it("may be of another kind: by its address range, and a header that the app alone compares", () => {
    const { rules, settings } = access("client-proxy", "client");
    expect(rules).toEqual([expect.objectContaining({ ...rule, tag: "Default", ipAddress: "203.0.113.0/24" })]);
    expect(rules).not.toMatchObject([{ headers: {} }]);
    expect(settings).toEqual(["3", "a long id of a gateway", "X-Gateway-Id"]);
  });

  it.each([
    ["connector", "client-proxy", "X-Gateway-Id"],
    ["client", "connector-proxy", "X-Azure-FDID"],
  ] as const)(
    "counts for the app that it is before: %s is called directly and trusts none: %s",
    (other, name, header) => {
      expect(access(name, other)).toEqual({ ...direct, settings: ["1", "", header] });
    },
  );

  it("is missed by the app where more proxies are trusted without an id, except by Core, which has none", () => {
    expect(access("trusted-proxies", "client").settings.slice(0, 2)).toEqual(["2", ""]);
    expect(access("trusted-proxies", "core").settings.slice(0, 2)).toEqual(["1", ""]);
  });
});

describe("a second run", () => {
  const secrets = (name: CaseName) => ofType(deployed(name), `${vault}/secrets`);
  const ends = (name: CaseName) => secrets(name).map(({ body }) => valueAt(body.properties, "attributes.exp"));

  it("brings new random keys with a new end, and changes nothing with them but what is made only where it is not there", () => {
    expect(ends("base")).toEqual([1_900_000_000, 1_900_000_000, 1_900_000_000]);
    expect(ends("next-keys")).toEqual([2_000_000_000, 2_000_000_000, 2_000_000_000]);
    const others = (name: CaseName) => deployed(name).resources.filter(({ type }) => type !== `${vault}/secrets`);
    expect(others("next-keys")).toEqual(others("base"));
  });

  it("makes no empty key where the hook gave none: azd looks at the parameters before it runs a hook", () => {
    expect(secrets("base").map(({ body }) => body.condition)).toEqual(
      secrets("base").map(({ body }) =>
        String(valueAt(body.properties, "value")).replace(/^\[(.*)\]$/, "[not(empty($1))]"),
      ),
    );
  });
});

describe("mail", () => {
  const linkedDomains = (name: CaseName) =>
    String(
      valueAt(
        ofType(deployed(name), "Microsoft.Communication/communicationServices")[0]?.body.properties,
        "linkedDomains",
      ),
    );
  const senders = (name: CaseName) =>
    ofType(deployed(name), "Microsoft.Communication/emailServices/domains/senderUsernames");

  it("is linked to its domain as soon as every DNS record was found", () => {
    const text = linkedDomains("base");
    expect(text).toMatch(/^\[if\(or\(false\(\), .*, createArray\(.*\), createArray\(\)\)\]$/);
    for (const record of ["Domain", "SPF", "DKIM", "DKIM2"])
      expect(text).toContain(`.verificationStates.${record}.status, 'Verified')`);
    expect(text).toContain("/domains/keys.example.com");
  });

  it("is not linked to another domain before that is verified, so docs/deploy.md has it verified first", () => {
    const text = linkedDomains("other-mail-domain");
    expect(text).toContain("/domains/other.example.com");
    expect(text).toMatch(/^\[if\(or\(false\(\), /);
    const [, mail = ""] = readFileSync("docs/deploy.md", "utf8").split("\n## Mail\n");
    const steps = ["az communication email domain create", "azd env set MAIL_DOMAIN <new domain>"].map(step =>
      mail.indexOf(step),
    );
    expect(steps[0]).toBeGreaterThan(0);
    expect(steps[1]).toBeGreaterThan(steps[0] ?? 0);
  });

  it("stays linked to its domain when a DNS record is not found for a moment", () => {
    expect(linkedDomains("options")).toMatch(/\/domains\/keys\.example\.com$/);
  });

  it("comes from donotreply, which every domain has, so that no sender is created that Azure refuses on a new domain", () => {
    const [sender] = senders("base");
    expect(sender?.last ?? "donotreply").toBe("donotreply");
    expect(sender?.body.condition ?? "").toMatch(/^$|not\(equals\(toLower\(.*\), 'donotreply'\)\)/);
    expect(appSettings(deployed(), "connector").EMAIL_SENDER_ADDRESS).toMatch(
      /^\[format\('\{0\}@\{1\}', 'donotreply', reference\(/,
    );
  });

  it("creates a sender of another name when one is asked for and the domain is linked", () => {
    expect(senders("options").map(({ last, body }) => [last, body.condition])).toEqual([["security-keys", undefined]]);
    expect(appSettings(deployed("options"), "connector").EMAIL_SENDER_ADDRESS).toMatch(/'security-keys', reference\(/);
  });

  it("returns the DNS records to publish", () => {
    const { MAIL_DNS_RECORDS } = deployed().outputs;
    for (const record of ["Domain", "SPF", "DKIM", "DKIM2"])
      expect(MAIL_DNS_RECORDS).toMatch(new RegExp(`verificationRecords\\.${record}\\b`));
  });
});
