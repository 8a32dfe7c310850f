import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { place } from "../../local/checks/bicep-compiler.ts";
import { existingNetworkId, existingVariables } from "./azd/existing-resources.ts";
import { type CaseName, cases } from "./cases.ts";
import { stageVariables } from "./compiled.ts";
import { valueAt } from "./json.ts";
import { appSettings, type Deployment, deployed, ofType, siteOf, token, valuesAt } from "./templates.ts";

const group = `/subscriptions/${place.subscriptionId}/resourceGroups/${place.resourceGroup}`;

const network = [
  "Microsoft.Network/virtualNetworks",
  "Microsoft.Network/networkSecurityGroups",
  "Microsoft.Network/privateDnsZones",
  "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
];

const enabledTests = (deployment: Deployment) =>
  ofType(deployment, "Microsoft.Insights/webtests").filter(({ body }) => valueAt(body.properties, "Enabled") === true);

const valuesOf = (names: RegExp) =>
  Object.entries(existingVariables).flatMap(([name, value]) => (names.test(name) ? [value] : []));

describe("existing resources of a platform team", () => {
  const given = deployed("existing");

  it("are used in place of a network, zones, identities, workspace and action group, and none of these is created", () => {
    const others = [
      "Microsoft.ManagedIdentity/userAssignedIdentities",
      "Microsoft.OperationalInsights/workspaces",
      "Microsoft.Insights/actionGroups",
    ];
    for (const type of [...network, ...others]) expect(ofType(given, type), type).toEqual([]);
    const sites = valuesAt(given, "Microsoft.Web/sites", "properties.virtualNetworkSubnetId");
    const { SUBNET_ID_CORE, SUBNET_ID_CLIENT, SUBNET_ID_CONNECTOR } = existingVariables;
    expect(sites).toEqual([SUBNET_ID_CORE, SUBNET_ID_CLIENT, SUBNET_ID_CONNECTOR]);
    const [component] = ofType(given, "Microsoft.Insights/components");
    expect(valueAt(component?.body.properties, "WorkspaceResourceId")).toBe(existingVariables.WORKSPACE_ID);
    for (const { body } of ofType(given, "Microsoft.Insights/scheduledQueryRules"))
      expect(valueAt(body.properties, "actions.actionGroups")).toEqual([existingVariables.ACTION_GROUP_ID]);
  });

  it("put private endpoints into their subnets and records into their zones", () => {
    const subnets = valuesAt(given, "Microsoft.Network/privateEndpoints", "properties.subnet.id");
    expect(new Set(subnets)).toEqual(new Set(valuesOf(/^SUBNET_ID_.*ENDPOINTS?$/)));
    const zones = valuesAt(
      given,
      "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
      "properties.privateDnsZoneConfigs.0.properties.privateDnsZoneId",
    );
    expect(new Set(zones)).toEqual(new Set(valuesOf(/^DNS_ZONE_ID_/)));
  });

  it("leave DNS records to a policy where privateDns is none", () => {
    const none = deployed("no-dns-records");
    for (const type of ["Microsoft.Network/privateDnsZones", "Microsoft.Network/privateEndpoints/privateDnsZoneGroups"])
      expect(ofType(none, type)).toEqual([]);
    expect(ofType(none, "Microsoft.Network/privateEndpoints")).toHaveLength(7);
  });

  it("have the roles of the apps, by the identities of another resource group", () => {
    const principals = valuesAt(given, "Microsoft.Authorization/roleAssignments", "properties.principalId");
    expect(new Set(principals)).toEqual(
      new Set(valuesOf(/^IDENTITY_ID_/).map(id => `[reference('${id}', '2024-11-30').principalId]`)),
    );
    const { IDENTITY_ID_CORE } = existingVariables;
    const { body } = siteOf(given, "core");
    expect(Object.keys(valueAt(body, "identity.userAssignedIdentities") as object)).toEqual([IDENTITY_ID_CORE]);
    expect(appSettings(given, "core").AZURE_CLIENT_ID).toBe(
      `[reference('${IDENTITY_ID_CORE}', '2024-11-30').clientId]`,
    );
  });

  it("are each a choice of its own: one zone given leaves the other three to be created", () => {
    const zones = ofType(deployed("existing-network"), "Microsoft.Network/privateDnsZones");
    expect(zones.map(({ name }) => /privatelink\.(\w+)/.exec(name)?.[1])).toEqual([
      "azurewebsites",
      "table",
      "vaultcore",
    ]);
  });
});

describe("an existing network", () => {
  const given = deployed("existing-network");
  const subnets = ofType(given, "Microsoft.Network/virtualNetworks/subnets");
  const own = ofType(deployed(), "Microsoft.Network/virtualNetworks/subnets");

  it("gets the same subnets as a network of the template, in its own resource group, and is not written itself", () => {
    expect(ofType(given, "Microsoft.Network/virtualNetworks")).toEqual([]);
    expect(subnets.map(({ last }) => last)).toEqual(own.map(({ last }) => `snet-${token}-${last}`));
    for (const { id } of subnets) expect(id.slice(0, existingNetworkId.length)).toBe(existingNetworkId);
    const [theirs = ""] = existingNetworkId.split("/providers");
    const withoutPlace = (properties: unknown) =>
      JSON.parse(
        JSON.stringify(properties)
          .replaceAll(theirs, group)
          .replaceAll(/10\.(20\.4|90\.0)\./g, ""),
      );
    expect(subnets.map(({ body }) => withoutPlace(body.properties))).toEqual(
      own.map(({ body }) => withoutPlace(body.properties)),
    );
  });

  it("gets the security groups, which Azure wants in the subscription of the network, and every endpoint and app", () => {
    const groups = ofType(given, "Microsoft.Network/networkSecurityGroups").map(({ id }) => id);
    expect(groups).toHaveLength(4);
    for (const id of groups) expect(id.split("/providers")[0]).toBe(existingNetworkId.split("/providers")[0]);
    expect(subnets.map(({ body }) => valueAt(body.properties, "networkSecurityGroup.id"))).toEqual(
      expect.arrayContaining(groups),
    );
    const used = [
      ...valuesAt(given, "Microsoft.Network/privateEndpoints", "properties.subnet.id"),
      ...valuesAt(given, "Microsoft.Web/sites", "properties.virtualNetworkSubnetId"),
    ];
    expect(new Set(used)).toEqual(new Set(subnets.map(({ id }) => id)));
    expect(given.outputs.NETWORK_NAME).toBe("vnet-spoke");
  });

  it("is linked to the DNS zones of the template, which are in the resource group of the deployment", () => {
    const zones = ofType(given, "Microsoft.Network/privateDnsZones").map(({ id }) =>
      id.replace(/^\[resourceId\('(.*?)', '(.*?)', .*$/, "/subscriptions/$1/resourceGroups/$2"),
    );
    expect(zones.map(id => id.slice(0, group.length))).toEqual(Array(3).fill(group));
    const links = ofType(given, "Microsoft.Network/privateDnsZones/virtualNetworkLinks");
    expect(links.map(({ body }) => valueAt(body.properties, "virtualNetwork.id"))).toEqual(
      Array(3).fill(existingNetworkId),
    );
    for (const { body } of links) expect(body.properties).toMatchObject({ resolutionPolicy: "NxDomainRedirect" });
  });
});

describe("tags and further subnets", () => {
  const given = deployed("ways-out");

  it("are variables of azd, so that a pipeline sets them as every other parameter", () => {
    const tags = { costCenter: "42", owner: "identity team", formula: "a=b", "azd-env-name": "sample" };
    for (const type of ["Microsoft.Network/virtualNetworks", "Microsoft.Storage/storageAccounts"])
      for (const { body } of ofType(given, type)) expect(body.tags).toEqual(tags);
    const subnets = ofType(given, "Microsoft.Network/virtualNetworks/subnets");
    expect(subnets.slice(6).map(({ last, body }) => [last, valueAt(body.properties, "addressPrefix")])).toEqual([
      ["AzureBastionSubnet", "10.90.1.64/26"],
      ["GatewaySubnet", "10.90.1.128/27"],
      ["runners", "10.90.1.0/26"],
    ]);
  });

  it("are apart from the network, because Azure would delete each subnet that a list of its own leaves out", () => {
    for (const { body } of ofType(given, "Microsoft.Network/virtualNetworks"))
      expect(Object.keys(body.properties as object)).toEqual(["addressSpace"]);
  });
});

describe("a way out", () => {
  const { NAT_GATEWAY_ID, ROUTE_TABLE_ID } = cases["ways-out"];
  const wayOut = { natGateway: { id: NAT_GATEWAY_ID }, routeTable: { id: ROUTE_TABLE_ID } };
  const subnets = ofType(deployed("ways-out"), "Microsoft.Network/virtualNetworks/subnets").map(({ last, body }) => ({
    name: last,
    properties: body.properties as object,
  }));

  it("of yours is that of the apps' subnets and of further ones, and of no endpoint", () => {
    for (const { name, properties } of subnets) {
      if (name.includes("endpoint")) expect(Object.keys(properties)).not.toContain("natGateway");
      else if (!name.endsWith("Subnet")) expect(properties, name).toMatchObject(wayOut);
      expect(properties, name).toMatchObject({ defaultOutboundAccess: false });
    }
  });

  it("and a security group are those of a further subnet of machines, and not those that Bastion and gateways refuse", () => {
    const ofServices = subnets.slice(6, 8);
    const runners = subnets.at(8);
    expect(valueAt(runners?.properties, "networkSecurityGroup.id")).toMatch(/networkSecurityGroups\/nsg-\w+-apps$/);
    expect(ofServices.map(({ properties }) => Object.keys(properties))).toEqual(
      Array(2).fill(["addressPrefix", "defaultOutboundAccess"]),
    );
  });
});

describe("a set for trying out", () => {
  const range = "203.0.113.7/32";
  const trial = deployed("trial-with-range");

  it("has no network and no private endpoint, cheap storage, and vaults that can be purged", () => {
    for (const type of [...network, "Microsoft.Network/privateEndpoints"])
      expect(ofType(trial, type), type).toEqual([]);
    for (const { body } of ofType(trial, "Microsoft.Storage/storageAccounts"))
      expect([valueAt(body, "sku.name"), valueAt(body.properties, "publicNetworkAccess")]).toEqual([
        "Standard_LRS",
        "Enabled",
      ]);
    for (const { body } of ofType(trial, "Microsoft.KeyVault/vaults")) {
      expect(body.properties).not.toHaveProperty("enablePurgeProtection");
      // Azure does not change it later, and a trial may become a stage.
      expect(valueAt(body.properties, "softDeleteRetentionInDays")).toBe(90);
    }
    for (const { body } of ofType(trial, "Microsoft.Web/sites"))
      expect(body.properties).not.toHaveProperty("virtualNetworkSubnetId");
  });

  it("takes no network or subnets of a platform team", () => {
    expect(JSON.stringify(deployed("trial"))).not.toContain("rg-platform");
  });

  it("still has no shared keys and no passwords, and opens Core to one range of addresses alone", () => {
    for (const { body } of ofType(trial, "Microsoft.Storage/storageAccounts"))
      expect(valueAt(body.properties, "allowSharedKeyAccess")).toBe(false);
    const core = (name: CaseName) => siteOf(deployed(name), "core").body.properties;
    expect(valueAt(core("trial-with-range"), "siteConfig.ipSecurityRestrictions")).toEqual([
      expect.objectContaining({ action: "Allow", ipAddress: range }),
    ]);
    expect(valueAt(core("trial-with-range"), "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    expect(valueAt(core("trial"), "publicNetworkAccess")).toBe("Disabled");
  });
});

describe("zones, cost and availability", () => {
  it("keeps stores and vaults from deletion by locks, where that is asked for", () => {
    const locks = ofType(deployed("prod"), "Microsoft.Authorization/locks");
    const targets = locks.map(({ id }) => id.split("/").at(-5)?.replace(token, ""));
    expect(targets.sort()).toEqual(["kv-auth-", "kv-conn-", "stauth", "stconn"]);
    for (const { body } of locks) expect(valueAt(body.properties, "level")).toBe("CanNotDelete");
    expect(ofType(deployed(), "Microsoft.Authorization/locks")).toEqual([]);
  });

  it("spreads each plan over zones and caps telemetry a day, where that is asked for", () => {
    const zones = (name: CaseName) => valuesAt(deployed(name), "Microsoft.Web/serverfarms", "properties.zoneRedundant");
    expect([zones("prod"), zones("base")]).toEqual([Array(3).fill(true), Array(3).fill(false)]);
    const cap = (name: CaseName) =>
      valuesAt(deployed(name), "Microsoft.OperationalInsights/workspaces", "properties.workspaceCapping.dailyQuotaGb");
    expect([cap("base"), cap("prod")]).toEqual([[-1], [10]]);
  });

  const urls = (name: CaseName) =>
    enabledTests(deployed(name)).map(({ body }) => String(valueAt(body.properties, "Request.RequestUrl")));

  it("calls /health of both public apps from five places where that is asked for, and never Core's", () => {
    expect(urls("options")).toEqual([
      expect.stringMatching(/^\[format\('\{0\}\/health', .*\/func-client-/),
      expect.stringMatching(/^\[format\('\{0\}\/health', .*\/func-connector-/),
    ]);
    expect(urls("base")).toEqual([]);
    for (const { body } of ofType(deployed("options"), "Microsoft.Insights/webtests"))
      expect(
        new Set((valueAt(body.properties, "Locations") as readonly { Id: string }[]).map(({ Id }) => Id)).size,
      ).toBe(5);
  });

  it("calls an app with a proxy through the proxy, or not at all", () => {
    expect(urls("proxies")).toEqual([]);
    expect(urls("client-proxy")).toEqual([
      "https://login.example.com/health",
      expect.stringContaining("func-connector-"),
    ]);
  });

  it("raises an alert when two places get no good response", () => {
    const deployment = deployed("options");
    const tests = ofType(deployment, "Microsoft.Insights/webtests").map(({ id }) => id);
    const alerts = ofType(deployment, "Microsoft.Insights/metricAlerts");
    expect(alerts.map(({ body }) => valueAt(body.properties, "criteria.webTestId"))).toEqual(tests);
    const [group] = ofType(deployment, "Microsoft.Insights/actionGroups");
    for (const { body } of alerts) {
      expect(valueAt(body.properties, "criteria.failedLocationCount")).toBe(2);
      expect(valueAt(body.properties, "actions.0.actionGroupId")).toBe(group?.id);
    }
  });
});

describe("the stages", () => {
  const stages = ["dev", "test", "prod"] as const;

  it.each(stages)("%s sets variables that the template reads", stage => {
    const parameters = readFileSync("infra/main.parameters.json", "utf8");
    const names = Object.keys(stageVariables(cases[stage]));
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) expect(parameters, name).toContain(`\${${name}`);
  });

  it("cost more from dev to prod: private endpoints from test on, locks and tests of availability in prod", () => {
    const count = (type: string) => stages.map(stage => ofType(deployed(stage), type).length);
    expect(count("Microsoft.Network/privateEndpoints")).toEqual([0, 7, 7]);
    expect(count("Microsoft.Authorization/locks")).toEqual([0, 0, 4]);
    expect(stages.map(stage => enabledTests(deployed(stage)).length)).toEqual([0, 0, 2]);
  });
});
