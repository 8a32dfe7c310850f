import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { existingNetworkId, existingResources } from "./azd/existing-resources.ts";
import { azdParameters } from "./azd/parameters.ts";
import type { Deployment } from "./bicep/deploy.ts";
import { place } from "./bicep/functions.ts";
import { valueAt } from "./isolation.ts";
import { appSettings, deployed, ofType, required, sample, templates } from "./templates.ts";

const network = [
  "Microsoft.Network/virtualNetworks",
  "Microsoft.Network/networkSecurityGroups",
  "Microsoft.Network/privateDnsZones",
  "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
];

const enabledTests = (deployment: Deployment) =>
  ofType(deployment, "Microsoft.Insights/webtests").filter(({ body }) => valueAt(body.properties, "Enabled") === true);

describe("existing resources of a platform team", () => {
  const given = deployed({ ...sample, ...existingResources });

  it("are used in place of a network, zones, identities, workspace and action group, and none of these is created", () => {
    const others = [
      "Microsoft.ManagedIdentity/userAssignedIdentities",
      "Microsoft.OperationalInsights/workspaces",
      "Microsoft.Insights/actionGroups",
    ];
    for (const type of [...network, ...others]) expect(ofType(given, type), type).toEqual([]);
    const sites = ofType(given, "Microsoft.Web/sites").map(({ body }) =>
      valueAt(body.properties, "virtualNetworkSubnetId"),
    );
    const { core, client, connector } = existingResources.existingSubnetIds;
    expect(sites).toEqual([core, client, connector]);
    const [component] = ofType(given, "Microsoft.Insights/components");
    expect(valueAt(component?.body.properties, "WorkspaceResourceId")).toBe(existingResources.existingWorkspaceId);
    for (const { body } of ofType(given, "Microsoft.Insights/scheduledQueryRules"))
      expect(valueAt(body.properties, "actions.actionGroups")).toEqual([existingResources.existingActionGroupId]);
  });

  it("put private endpoints into their subnets and records into their zones", () => {
    const subnets = ofType(given, "Microsoft.Network/privateEndpoints").map(({ body }) =>
      valueAt(body.properties, "subnet.id"),
    );
    const { authEndpoints, connectorEndpoints, coreEndpoint } = existingResources.existingSubnetIds;
    expect(new Set(subnets)).toEqual(new Set([authEndpoints, connectorEndpoints, coreEndpoint]));
    const zones = ofType(given, "Microsoft.Network/privateEndpoints/privateDnsZoneGroups").map(({ body }) =>
      valueAt(body.properties, "privateDnsZoneConfigs.0.properties.privateDnsZoneId"),
    );
    expect(new Set(zones)).toEqual(new Set(Object.values(existingResources.existingDnsZoneIds)));
  });

  it("leave DNS records to a policy where privateDns is none", () => {
    const none = deployed({ ...sample, privateDns: "none" });
    for (const type of ["Microsoft.Network/privateDnsZones", "Microsoft.Network/privateEndpoints/privateDnsZoneGroups"])
      expect(ofType(none, type)).toEqual([]);
    expect(ofType(none, "Microsoft.Network/privateEndpoints")).toHaveLength(7);
  });

  it("have the roles of the apps, by the identities of another resource group", () => {
    const principals = ofType(given, "Microsoft.Authorization/roleAssignments").map(({ body }) =>
      valueAt(body.properties, "principalId"),
    );
    expect(new Set(principals)).toEqual(
      new Set(["principal of id-core", "principal of id-client", "principal of id-connector"]),
    );
    const [site] = ofType(given, "Microsoft.Web/sites");
    expect(Object.keys(valueAt(site?.body, "identity.userAssignedIdentities") as object)).toEqual([
      existingResources.existingIdentityIds.core,
    ]);
    expect(appSettings(given, "core").AZURE_CLIENT_ID).toBe("client id of id-core");
  });

  it("are each a choice of its own: one zone given leaves the other three to be created", () => {
    const { blob } = existingResources.existingDnsZoneIds;
    const zones = ofType(deployed({ ...sample, existingDnsZoneIds: { blob } }), "Microsoft.Network/privateDnsZones");
    expect(zones.map(({ name }) => name.split(".")[1])).toEqual(["azurewebsites", "table", "vaultcore"]);
  });
});

describe("the memory of an instance", () => {
  const argumentsWith = (instanceMemoryMB: number) =>
    ["core", "client", "connector"].map(
      api => appSettings(deployed({ ...sample, instanceMemoryMB }), api).languageWorkers__node__arguments,
    );

  it("limits the heap if it is 512 MB", () => {
    expect(argumentsWith(512)).toEqual(Array(3).fill("--max-old-space-size=128 --max-semi-space-size=8"));
  });

  it("is not limited by arguments otherwise, which would make a cold start longer", () => {
    for (const mb of [2048, 4096]) expect(argumentsWith(mb)).toEqual([undefined, undefined, undefined]);
  });
});

describe("an existing network", () => {
  const given = deployed({ ...sample, existingNetworkId, networkPrefix: "10.20.4.0/24" });
  const subnets = ofType(given, "Microsoft.Network/virtualNetworks/subnets");
  const own = ofType(deployed(), "Microsoft.Network/virtualNetworks/subnets").map(({ body }) => body);

  it("gets the same subnets as a network of the template, in its own resource group, and is not written itself", () => {
    expect(ofType(given, "Microsoft.Network/virtualNetworks")).toEqual([]);
    const token = String(given.outputs.AUTH_VAULT_NAME).replace("kv-auth-", "");
    expect(subnets.map(({ body }) => body.name)).toEqual(own.map(({ name }) => `snet-${token}-${name}`));
    for (const { id } of subnets) expect(id.slice(0, existingNetworkId.length)).toBe(existingNetworkId);
    const [group] = existingNetworkId.split("/providers");
    const withoutPlace = (properties: unknown) =>
      JSON.parse(
        JSON.stringify(properties)
          .replaceAll(group ?? "", place.group)
          .replaceAll(/10\.(20\.4|90\.0)\./g, ""),
      );
    expect(subnets.map(({ body }) => withoutPlace(body.properties))).toEqual(
      own.map(({ properties }) => withoutPlace(properties)),
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
      ...ofType(given, "Microsoft.Network/privateEndpoints").map(({ body }) => valueAt(body.properties, "subnet.id")),
      ...ofType(given, "Microsoft.Web/sites").map(({ body }) => valueAt(body.properties, "virtualNetworkSubnetId")),
    ];
    expect(new Set(used)).toEqual(new Set(subnets.map(({ id }) => id)));
    expect(given.outputs.NETWORK_NAME).toBe("vnet-spoke");
  });

  it("gets one subnet after the other, because Azure refuses two changes of a network at once", () => {
    for (const loop of ["made", "added"]) {
      const found = templates.get("modules/network.bicep")?.declarations.find(({ name }) => name === loop);
      expect(found?.decorators.map(({ name, args: [size] }) => [name, size])).toEqual([
        ["batchSize", expect.objectContaining({ value: 1 })],
      ]);
    }
  });

  it("is linked to the DNS zones of the template, which are in the resource group of the deployment", () => {
    const zones = ofType(given, "Microsoft.Network/privateDnsZones");
    expect(zones.map(({ id }) => id.slice(0, place.group.length))).toEqual(Array(4).fill(place.group));
    const links = ofType(given, "Microsoft.Network/privateDnsZones/virtualNetworkLinks");
    expect(links.map(({ body }) => valueAt(body.properties, "virtualNetwork.id"))).toEqual(
      Array(4).fill(existingNetworkId),
    );
    for (const { body } of links) expect(body.properties).toMatchObject({ resolutionPolicy: "NxDomainRedirect" });
    const none = deployed({ ...sample, existingNetworkId, privateDns: "none" });
    expect(ofType(none, "Microsoft.Network/privateDnsZones")).toEqual([]);
  });
});

describe("tags and further subnets", () => {
  const given = deployed(
    azdParameters({
      AZURE_ENV_NAME: required.environmentName,
      MAIL_DOMAIN: required.mailDomain,
      RESOURCE_TAGS: "costCenter=42, owner = identity team,formula=a=b",
      ADDITIONAL_SUBNETS: "runners=10.90.1.0/27, AzureBastionSubnet=10.90.1.64/26",
    }),
  );

  it("are variables of azd, so that a pipeline sets them as every other parameter", () => {
    const tags = { costCenter: "42", owner: "identity team", formula: "a=b", "azd-env-name": "sample" };
    for (const type of ["Microsoft.Network/virtualNetworks", "Microsoft.Storage/storageAccounts"])
      for (const { body } of ofType(given, type)) expect(body.tags).toEqual(tags);
    const subnets = ofType(given, "Microsoft.Network/virtualNetworks/subnets").map(({ body }) => body);
    expect(subnets.slice(6)).toMatchObject([
      { name: "runners", properties: { addressPrefix: "10.90.1.0/27" } },
      { name: "AzureBastionSubnet", properties: { addressPrefix: "10.90.1.64/26" } },
    ]);
  });

  it("are apart from the network, because Azure would delete each subnet that a list of its own leaves out", () => {
    for (const { body } of ofType(given, "Microsoft.Network/virtualNetworks"))
      expect(Object.keys(body.properties as object)).toEqual(["addressSpace"]);
  });
});

describe("a way out", () => {
  const id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network";
  const ways = { natGatewayId: `${id}/natGateways/nat`, routeTableId: `${id}/routeTables/routes` };
  const wayOut = { natGateway: { id: ways.natGatewayId }, routeTable: { id: ways.routeTableId } };
  const additionalSubnets = "runners=10.90.1.0/26,AzureBastionSubnet=10.90.1.64/26,GatewaySubnet=10.90.1.128/27";
  const subnets = ofType(
    deployed({ ...sample, ...ways, additionalSubnets }),
    "Microsoft.Network/virtualNetworks/subnets",
  ).map(({ body }) => ({ name: String(body.name), properties: body.properties as object }));

  it("of yours is that of the apps' subnets and of further ones, and of no endpoint", () => {
    for (const { name, properties } of subnets) {
      if (name.includes("endpoint")) expect(Object.keys(properties)).not.toContain("natGateway");
      else if (!name.endsWith("Subnet")) expect(properties, name).toMatchObject(wayOut);
      expect(properties, name).toMatchObject({ defaultOutboundAccess: false });
    }
  });

  it("and a security group are those of a further subnet of machines, and not those that Bastion and gateways refuse", () => {
    const [runners, ...ofServices] = subnets.slice(6);
    expect(valueAt(runners?.properties, "networkSecurityGroup.id")).toMatch(/networkSecurityGroups\/nsg-\w+-apps$/);
    expect(ofServices.map(({ properties }) => Object.keys(properties))).toEqual(
      Array(2).fill(["addressPrefix", "defaultOutboundAccess"]),
    );
  });
});

describe("a set for trying out", () => {
  const range = "203.0.113.7/32";
  const trial = deployed({ ...sample, trial: true, coreDeployRange: range });

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
    const { existingSubnetIds } = existingResources;
    const given = { ...sample, trial: true, existingSubnetIds, existingNetworkId };
    expect(deployed(given).resources).toEqual(deployed({ ...sample, trial: true }).resources);
  });

  it("still has no shared keys and no passwords, and opens Core to one range of addresses alone", () => {
    for (const { body } of ofType(trial, "Microsoft.Storage/storageAccounts"))
      expect(valueAt(body.properties, "allowSharedKeyAccess")).toBe(false);
    const core = (given: object) =>
      ofType(deployed({ ...sample, trial: true, ...given }), "Microsoft.Web/sites").find(({ way }) => way[0] === "core")
        ?.body.properties;
    expect(valueAt(core({ coreDeployRange: range }), "siteConfig.ipSecurityRestrictions")).toEqual([
      expect.objectContaining({ action: "Allow", ipAddress: range }),
    ]);
    expect(valueAt(core({ coreDeployRange: range }), "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    expect(valueAt(core({}), "publicNetworkAccess")).toBe("Disabled");
  });
});

describe("locks", () => {
  it("keep stores and vaults from deletion, where they are asked for", () => {
    const locks = ofType(deployed({ ...sample, resourceLocks: true }), "Microsoft.Authorization/locks");
    expect(
      locks
        .map(({ id }) =>
          id
            .split("/")
            .at(-5)
            ?.replace(/[a-z0-9]{13}$/, ""),
        )
        .sort(),
    ).toEqual(["kv-auth-", "kv-conn-", "stauth", "stconn"]);
    for (const { body } of locks) expect(valueAt(body.properties, "level")).toBe("CanNotDelete");
    expect(ofType(deployed(), "Microsoft.Authorization/locks")).toEqual([]);
  });
});

describe("zones, cost and availability", () => {
  it("spreads each plan over zones, where that is asked for", () => {
    const plans = (zoneRedundant: boolean) =>
      ofType(deployed({ ...sample, zoneRedundant }), "Microsoft.Web/serverfarms").map(({ body }) =>
        valueAt(body.properties, "zoneRedundant"),
      );
    expect(plans(true)).toEqual([true, true, true]);
    expect(plans(false)).toEqual([false, false, false]);
  });

  it("caps telemetry a day, where that is asked for", () => {
    const cap = (dailyCapGb: number) =>
      valueAt(
        ofType(deployed({ ...sample, dailyCapGb }), "Microsoft.OperationalInsights/workspaces")[0]?.body.properties,
        "workspaceCapping.dailyQuotaGb",
      );
    expect([cap(0), cap(5)]).toEqual([-1, 5]);
  });

  const tested = { ...sample, availabilityTests: true };
  const urls = (given: object) =>
    enabledTests(deployed({ ...tested, ...given })).map(({ body }) =>
      String(valueAt(body.properties, "Request.RequestUrl")),
    );

  it("calls /health of both public apps from five places where that is asked for, and never Core's", () => {
    expect(urls({})).toEqual([
      expect.stringMatching(/^https:\/\/func-client-.*\/health$/),
      expect.stringMatching(/^https:\/\/func-connector-.*\/health$/),
    ]);
    expect(enabledTests(deployed(sample))).toEqual([]);
    for (const { body } of ofType(deployed(tested), "Microsoft.Insights/webtests"))
      expect(
        new Set((valueAt(body.properties, "Locations") as readonly { Id: string }[]).map(({ Id }) => Id)).size,
      ).toBe(5);
  });

  it("calls an app with a proxy through the proxy, or not at all", () => {
    const proxied = { clientProxyId: "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a" };
    expect(urls(proxied)).toEqual([expect.stringContaining("func-connector-")]);
    expect(urls({ ...proxied, clientPublicBaseUrl: "https://login.example.com" })[0]).toBe(
      "https://login.example.com/health",
    );
  });

  it("raises an alert when two places get no good response", () => {
    const deployment = deployed(tested);
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
  const values = (stage: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...readFileSync(`infra/stages/${stage}.env`, "utf8").matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(
        ([, name = "", value = ""]) => [name, value],
      ),
    );
  const given = (stage: string) =>
    azdParameters({ AZURE_ENV_NAME: stage, MAIL_DOMAIN: required.mailDomain, ...values(stage) });

  it.each(["dev", "test", "prod"])("%s sets variables that the template reads, and works out", stage => {
    const parameters = readFileSync("infra/main.parameters.json", "utf8");
    expect(Object.keys(values(stage)).length).toBeGreaterThan(2);
    for (const name of Object.keys(values(stage))) expect(parameters, name).toContain(`\${${name}`);
    expect(deployed(given(stage)).resources.length).toBeGreaterThan(80);
  });

  it("cost more from dev to prod: private endpoints from test on, zones and locks in prod", () => {
    const of = (stage: string) => deployed(given(stage));
    const count = (type: string) => ["dev", "test", "prod"].map(stage => ofType(of(stage), type).length);
    expect(count("Microsoft.Network/privateEndpoints")).toEqual([0, 7, 7]);
    expect(count("Microsoft.Authorization/locks")).toEqual([0, 0, 4]);
    expect(["dev", "test", "prod"].map(stage => enabledTests(of(stage)).length)).toEqual([0, 0, 2]);
    const [plan] = ofType(of("prod"), "Microsoft.Web/serverfarms");
    expect(valueAt(plan?.body.properties, "zoneRedundant")).toBe(true);
  });
});
