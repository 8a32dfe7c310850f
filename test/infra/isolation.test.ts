import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Deployment } from "./bicep/deploy.ts";
import { isolationFaults, valueAt } from "./isolation.ts";
import { appSettings, asked, deployed, ofType, planted, sample } from "./templates.ts";

const withTokens = { ...sample, everyAppSettings: { CALLER_STATIC_TOKENS: "true" } };
const withProxies = { ...sample, clientProxyId: "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a", connectorProxyId: "9b1d" };
const withRange = { ...sample, coreDeployRange: "203.0.113.7/32" };

describe("every door that is to be closed", () => {
  it.each([
    ["by default", sample],
    ["with static tokens", withTokens],
    ["with a range that deploys Core", withRange],
    ["with a proxy before Client and the connector", withProxies],
  ])("is closed %s", (_, given) => {
    expect(isolationFaults(deployed(given))).toEqual([]);
  });

  it.each([
    [
      "shared keys",
      "modules/store.bicep",
      "allowSharedKeyAccess: false",
      "allowSharedKeyAccess: true",
      "allowSharedKeyAccess is true",
    ],
    [
      "a store on the internet",
      "modules/store.bicep",
      "publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'",
      "publicNetworkAccess: 'Enabled'",
      'publicNetworkAccess is "Enabled"',
    ],
    [
      "no soft delete",
      "modules/store.bicep",
      "deleteRetentionPolicy: {\n      enabled: true",
      "deleteRetentionPolicy: {\n      enabled: false",
      "deleteRetentionPolicy.enabled is false",
    ],
    [
      "a container that is public",
      "modules/store.bicep",
      "publicAccess: 'None'",
      "publicAccess: 'Blob'",
      'publicAccess is "Blob"',
    ],
    [
      "a vault that can be purged",
      "modules/vault.bicep",
      "enablePurgeProtection: true",
      "enablePurgeProtection: false",
      "enablePurgeProtection is false",
    ],
    [
      "a vault with access policies",
      "modules/vault.bicep",
      "enableRbacAuthorization: true",
      "enableRbacAuthorization: false",
      "enableRbacAuthorization is false",
    ],
    [
      "a vault for Azure's own services",
      "modules/vault.bicep",
      "bypass: 'None'",
      "bypass: 'AzureServices'",
      'networkAcls.bypass is "AzureServices"',
    ],
    [
      "a secret that each run writes",
      "modules/vault.bicep",
      "@onlyIfNotExists()\nresource dataKey",
      "resource dataKey",
      "a second run would write it again",
    ],
    ["a deployment password", "modules/app.bicep", "    allow: false", "    allow: true", "allow is true"],
    [
      "a deployment password that is not turned off",
      "modules/app.bicep",
      "name: 'scm'",
      "name: 'ftp'",
      "passwords for ftp,ftp alone are off",
    ],
    [
      "Core on the internet",
      "modules/app.bicep",
      "ipSecurityRestrictionsDefaultAction: closed || proxied ? 'Deny' : 'Allow'",
      "ipSecurityRestrictionsDefaultAction: 'Allow'",
      "Core is open",
    ],
    [
      "Core's deployment site on the internet",
      "modules/app.bicep",
      "scmIpSecurityRestrictionsDefaultAction: closed ? 'Deny' : 'Allow'",
      "scmIpSecurityRestrictionsDefaultAction: 'Allow'",
      "Core is open",
    ],
    ["plain HTTP", "modules/app.bicep", "httpsOnly: true", "httpsOnly: false", "httpsOnly is false"],
    [
      "a store without private endpoint for tables",
      "modules/store.bicep",
      "['blob', 'table']",
      "['blob']",
      "table has no private endpoint",
    ],
    [
      "an endpoint among the other service's",
      "main.bicep",
      "subnetId: subnetIds.connectorEndpoints",
      "subnetId: subnetIds.authEndpoints",
      "no private endpoint in connector-endpoints",
    ],
    ["Core without private endpoint", "main.bicep", "group: 'sites'", "group: 'site'", "sites has no private endpoint"],
    [
      "an app's subnet that is delegated to something else",
      "modules/network.bicep",
      "serviceName: 'Microsoft.App/environments'",
      "serviceName: 'Microsoft.Web/serverFarms'",
      "core is delegated to Microsoft.Web/serverFarms",
    ],
    [
      "a subnet of endpoints that is delegated",
      "modules/network.bicep",
      "{ privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled' }",
      "{ delegations: [{ name: 'a', properties: { serviceName: 'Microsoft.App/environments' } }] }",
      "auth-endpoints is delegated to Microsoft.App/environments",
    ],
    [
      "a subnet with a way out of its own",
      "modules/network.bicep",
      "      defaultOutboundAccess: false\n",
      "",
      "core is no private subnet",
    ],
    [
      "storage that is encrypted once",
      "modules/store.bicep",
      "requireInfrastructureEncryption: true",
      "requireInfrastructureEncryption: false",
      "encryption.requireInfrastructureEncryption is false",
    ],
    [
      "access logs",
      "modules/vault.bicep",
      "category: 'AuditEvent'",
      "categoryGroup: 'allLogs'",
      "a group of categories is collected",
    ],
    [
      "telemetry by key",
      "modules/monitoring.bicep",
      "DisableLocalAuth: true",
      "DisableLocalAuth: false",
      "DisableLocalAuth is false",
    ],
    [
      "mail by key",
      "modules/mail.bicep",
      "disableLocalAuth: true",
      "disableLocalAuth: false",
      "disableLocalAuth is false",
    ],
    [
      "mails that are tracked",
      "modules/mail-domain.bicep",
      "userEngagementTracking: 'Disabled'",
      "userEngagementTracking: 'Enabled'",
      "userEngagementTracking is",
    ],
  ])("finds %s", (_, path, from, to, expected) => {
    const faults = isolationFaults(deployed(sample, { files: planted(path, from, to) }));
    expect(faults.join("\n")).toContain(expected);
  });
});

const without = (id: string, token: string) => id.split("/").at(-1)?.replace(`-${token}`, "").replace(token, "");

/** Who may do what, where, in short words. */
function grantsOf(deployment: Deployment): readonly string[] {
  const token = deployment.outputs.AUTH_VAULT_NAME?.toString().replace("kv-auth-", "") ?? "";
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
      const who = String(valueAt(body.properties, "principalId"))
        .replace("principal of id-", "")
        .replace(`-${token}`, "");
      const role = String(valueAt(body.properties, "roleDefinitionId")).split("/").at(-1) ?? "";
      const scope = id.slice(0, id.indexOf("/providers/Microsoft.Authorization"));
      const condition = String(valueAt(body.properties, "condition") ?? "");
      const except = [...condition.matchAll(/StringNotEquals '([^']+)'/g)].map(([, name]) => ` but ${name}`).join("");
      return `${who}: ${roleNames[role] ?? role} on ${without(scope, token)}${except}`;
    })
    .sort();
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
      .filter(({ body }) => valueAt(body.properties, "condition") !== undefined)
      .map(({ body }) => body.properties as Readonly<Record<string, unknown>>);
    expect(conditions.map(({ conditionVersion }) => conditionVersion)).toEqual(["2.0"]);
    const of = (action: string) =>
      `!(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/${action}'})`;
    const not = (name: string) =>
      `@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals '${name}'`;
    const actions = ["read", "write", "add/action", "delete", "runAsSuperUser/action"].map(of).join(" AND ");
    const others = [not("package-core"), not("backups")].join(" AND ");
    expect(conditions[0]?.condition).toBe(`((${actions}) OR (${others}))`);
    const containers = ofType(deployed(), "Microsoft.Storage/storageAccounts/blobServices/containers")
      .filter(({ name }) => name.startsWith("stauth"))
      .map(({ body }) => body.name);
    expect(containers).toEqual(expect.arrayContaining(["package-core", "backups"]));
  });

  it("lets an app write the one secret of its static tokens, where there are such tokens", () => {
    const more = [
      "connector: Key Vault Secrets Officer on connector-api-tokens",
      "core: Key Vault Secrets Officer on core-api-tokens",
    ];
    expect(grantsOf(deployed(withTokens))).toEqual([...usual, ...more].sort());
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

  it("keeps the other service from a service's endpoints in the network too, and the public apps from Core", () => {
    const subnets = ofType(deployed(), "Microsoft.Network/virtualNetworks/subnets").map(({ body }) => body);
    const prefixOf = (name: string) =>
      valueAt(
        subnets.find(subnet => subnet.name === name),
        "properties.addressPrefix",
      );
    const allowed = (group: string) =>
      ofType(deployed(), "Microsoft.Network/networkSecurityGroups")
        .filter(({ name }) => name.endsWith(group))
        .flatMap(
          ({ body }) => valueAt(body.properties, "securityRules") as readonly { properties: Record<string, unknown> }[],
        )
        .map(({ properties: { access, sourceAddressPrefix, sourceAddressPrefixes, destinationPortRange } }) => ({
          access,
          from: sourceAddressPrefixes ?? sourceAddressPrefix,
          port: destinationPortRange,
        }));
    const denyOthers = { access: "Deny", from: "*", port: "*" };
    expect(allowed("auth-endpoints")).toEqual([
      { access: "Allow", from: [prefixOf("core"), prefixOf("client")], port: "443" },
      denyOthers,
    ]);
    expect(allowed("connector-endpoints")).toEqual([
      { access: "Allow", from: [prefixOf("connector")], port: "443" },
      denyOthers,
    ]);
    expect(allowed("core-endpoint")).toEqual([
      { access: "Deny", from: [prefixOf("client"), prefixOf("connector")], port: "*" },
    ]);
    expect(
      valueAt(
        subnets.find(({ name }) => name === "core-endpoint"),
        "properties.networkSecurityGroup.id",
      ),
    ).toMatch(/core-endpoint$/);
    for (const service of ["auth", "connector"]) {
      const subnet = subnets.find(({ name }) => name === `${service}-endpoints`);
      expect(valueAt(subnet, "properties.networkSecurityGroup.id")).toMatch(new RegExp(`${service}-endpoints$`));
      expect(valueAt(subnet, "properties.privateEndpointNetworkPolicies")).toBe("NetworkSecurityGroupEnabled");
    }
  });

  it("lets operators' machines, where a range is named, reach the endpoints of both services on the port of TLS, and no other source", () => {
    const rulesOf = (group: string) =>
      ofType(deployed({ ...sample, operatorRange: "10.90.1.0/27" }), "Microsoft.Network/networkSecurityGroups")
        .filter(({ name }) => name.endsWith(group))
        .flatMap(({ body }) => valueAt(body.properties, "securityRules") as readonly unknown[]);
    for (const service of ["auth", "connector"]) {
      const rules = rulesOf(`${service}-endpoints`);
      const found = rules.map(rule =>
        ["name", "access", "sourceAddressPrefix", "destinationPortRange"].map(name =>
          valueAt(rule, name === "name" ? name : `properties.${name}`),
        ),
      );
      expect(found.slice(1)).toEqual([
        ["operators", "Allow", "10.90.1.0/27", "443"],
        ["deny-other-sources", "Deny", "*", "*"],
      ]);
      const priorities = rules.map(rule => Number(valueAt(rule, "properties.priority")));
      expect(priorities).toEqual(priorities.toSorted((one, other) => one - other));
    }
    for (const group of ["apps", "core-endpoint"]) expect(JSON.stringify(rulesOf(group))).not.toContain("operators");
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
  const coreOf = (given: Readonly<Record<string, unknown>>) =>
    ofType(deployed(given), "Microsoft.Web/sites").find(({ way }) => way[0] === "core")?.body.properties;

  it("answers inside the network alone", () => {
    expect(valueAt(coreOf(sample), "publicNetworkAccess")).toBe("Disabled");
    expect(valueAt(coreOf(sample), "siteConfig.scmIpSecurityRestrictions")).toEqual([]);
  });

  it("takes a package from one address range, on its deployment site alone, where one is named", () => {
    const core = coreOf(withRange);
    expect(valueAt(core, "publicNetworkAccess")).toBe("Enabled");
    expect(valueAt(core, "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    expect(valueAt(core, "siteConfig.scmIpSecurityRestrictions")).toEqual([
      expect.objectContaining({ action: "Allow", ipAddress: "203.0.113.7/32" }),
    ]);
  });

  it("leaves Client and the connector as they are", () => {
    const others = (given: Readonly<Record<string, unknown>>) =>
      ofType(deployed(given), "Microsoft.Web/sites").filter(({ way }) => way[0] !== "core");
    expect(others(withRange)).toEqual(others(sample));
    for (const { body } of others(sample)) expect(valueAt(body.properties, "publicNetworkAccess")).toBe("Enabled");
  });
});

describe("a proxy before Client and the connector", () => {
  const frontDoor = "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a";
  const access = (given: Readonly<Record<string, unknown>>, api: string) => {
    const deployment = deployed({ ...sample, ...given });
    const site = ofType(deployment, "Microsoft.Web/sites").find(({ way }) => way[0] === api);
    const { TRUSTED_PROXIES, PROXY_ID, PROXY_ID_HEADER } = appSettings(deployment, api);
    return {
      otherwise: valueAt(site?.body.properties, "siteConfig.ipSecurityRestrictionsDefaultAction"),
      rules: valueAt(site?.body.properties, "siteConfig.ipSecurityRestrictions"),
      deploying: valueAt(site?.body.properties, "siteConfig.scmIpSecurityRestrictionsDefaultAction"),
      settings: [TRUSTED_PROXIES, PROXY_ID, PROXY_ID_HEADER],
    };
  };
  const rule = { name: "proxy", priority: 100, action: "Allow" };
  const direct = { otherwise: "Allow", rules: [], deploying: "Allow", settings: ["1", "", "X-Azure-FDID"] };

  it.each([
    ["client", { clientProxyId: frontDoor }],
    ["connector", { connectorProxyId: frontDoor }],
  ])("is the only way to %s where its id is given: by service tag and id", (api, given) => {
    expect(access(given, api)).toEqual({
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
      settings: ["2", frontDoor, "X-Azure-FDID"],
    });
    const other = api === "client" ? "connector" : "client";
    expect(access(given, other)).toEqual(direct);
    expect(access({}, api)).toEqual(direct);
    expect(access(given, "core")).toEqual(access({}, "core"));
  });

  it("may be of another kind: by its address range, and a header that the app alone compares", () => {
    const given = {
      clientProxyId: "a long id of a gateway",
      proxySource: "203.0.113.0/24",
      everyAppSettings: { PROXY_ID_HEADER: "X-Gateway-Id", TRUSTED_PROXIES: "3" },
    };
    const { rules, settings } = access(given, "client");
    expect(rules).toEqual([expect.objectContaining({ ...rule, tag: "Default", ipAddress: "203.0.113.0/24" })]);
    expect(rules).not.toMatchObject([{ headers: {} }]);
    expect(settings).toEqual(["3", "a long id of a gateway", "X-Gateway-Id"]);
  });

  it.each([
    ["client", "connector"],
    ["connector", "client"],
  ])(
    "counts for the app that it is before: %s trusts two more, %s is called directly and trusts none",
    (api, other) => {
      const given = { [`${api}ProxyId`]: frontDoor, everyAppSettings: { TRUSTED_PROXIES: "3" } };
      expect(access(given, api).settings).toEqual(["3", frontDoor, "X-Azure-FDID"]);
      expect(access(given, other)).toEqual(direct);
    },
  );

  it("is missed by the app where more proxies are trusted without an id, except by Core, which has none", () => {
    const given = { everyAppSettings: { TRUSTED_PROXIES: "2" } };
    expect(access(given, "client").settings.slice(0, 2)).toEqual(["2", ""]);
    expect(access(given, "core").settings.slice(0, 2)).toEqual(["1", ""]);
  });
});

describe("a second run", () => {
  it("brings new random keys, and changes nothing with them but what is made only where it is not there", () => {
    const next = {
      authDataKey: "D".repeat(43),
      authPepper: "E".repeat(43),
      connectorDataKey: "F".repeat(43),
      keysExpireOn: 2_000_000_000,
    };
    const first = deployed(sample).resources;
    const second = deployed({ ...sample, ...next }).resources;
    const changed = second.filter((each, position) => JSON.stringify(each) !== JSON.stringify(first[position]));
    expect(changed.map(({ name }) => name.split("/").at(-1)).sort()).toEqual([
      "data-encryption-key",
      "data-encryption-key",
      "password-pepper",
    ]);
    for (const { onlyIfNotExists } of changed) expect(onlyIfNotExists).toBe(true);
  });

  it("makes no empty key where the hook gave none: azd looks at the parameters before it runs a hook", () => {
    expect(ofType(deployed(asked), "Microsoft.KeyVault/vaults/secrets")).toEqual([]);
  });

  it("gives each service a key of its own, with an end, and the pepper to the authentication server alone", () => {
    const secrets = ofType(deployed(), "Microsoft.KeyVault/vaults/secrets").map(({ way, body }) => [
      way[0],
      body.name,
      valueAt(body.properties, "value"),
      valueAt(body.properties, "attributes.exp"),
    ]);
    expect(secrets).toEqual([
      ["authVault", "data-encryption-key", sample.authDataKey, 1_900_000_000],
      ["authVault", "password-pepper", sample.authPepper, 1_900_000_000],
      ["connectorVault", "data-encryption-key", sample.connectorDataKey, 1_900_000_000],
    ]);
  });
});

describe("mail", () => {
  const linkedDomains = (given: object, verified: boolean) =>
    valueAt(
      ofType(deployed({ ...sample, ...given }, { verified }), "Microsoft.Communication/communicationServices")[0]?.body
        .properties,
      "linkedDomains",
    );
  const senders = (given: object, verified: boolean) =>
    ofType(
      deployed({ ...sample, ...given }, { verified }),
      "Microsoft.Communication/emailServices/domains/senderUsernames",
    ).map(({ body }) => body.name);
  const theDomain = [expect.stringMatching(/domains\/keys\.example\.com$/)];

  it("is linked to its domain as soon as every DNS record was found", () => {
    expect(linkedDomains({}, false)).toEqual([]);
    expect(linkedDomains({}, true)).toEqual(theDomain);
  });

  it("is not linked to another domain before that is verified, so docs/deploy.md has it verified first", () => {
    const other = { mailDomain: "other.example.com", mailDomainLinked: false };
    expect(linkedDomains(other, false)).toEqual([]);
    expect(linkedDomains(other, true)).toEqual([expect.stringMatching(/domains\/other\.example\.com$/)]);
    const [, mail = ""] = readFileSync("docs/deploy.md", "utf8").split("\n## Mail\n");
    const steps = ["az communication email domain create", "azd env set MAIL_DOMAIN <new domain>"].map(step =>
      mail.indexOf(step),
    );
    expect(steps[0]).toBeGreaterThan(0);
    expect(steps[1]).toBeGreaterThan(steps[0] ?? 0);
  });

  it("stays linked to its domain when a DNS record is not found for a moment", () => {
    expect(linkedDomains({ mailDomainLinked: true }, false)).toEqual(theDomain);
  });

  it("comes from donotreply, which every domain has, so that no sender is created that Azure refuses on a new domain", () => {
    expect(senders({}, true)).toEqual([]);
    expect(appSettings(deployed(), "connector").EMAIL_SENDER_ADDRESS).toBe("donotreply@keys.example.com");
  });

  it("creates a sender of another name when one is asked for and the domain is linked", () => {
    const given = { mailSenderName: "Security-Keys" };
    expect(senders(given, false)).toEqual([]);
    expect(senders(given, true)).toEqual(["security-keys"]);
    expect(senders({ ...given, mailDomainLinked: true }, false)).toEqual(["security-keys"]);
    expect(appSettings(deployed({ ...sample, ...given }), "connector").EMAIL_SENDER_ADDRESS).toBe(
      "security-keys@keys.example.com",
    );
  });

  it("returns the DNS records to publish", () => {
    expect(deployed(sample, { verified: false }).outputs.MAIL_DNS_RECORDS).toHaveLength(4);
    expect(deployed(sample, { verified: false }).outputs.MAIL_DOMAIN_VERIFIED).toBe(false);
  });
});
