import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { azdParameters } from "./azd-parameters.ts";
import { existingResources } from "./existing-resources.ts";
import { held } from "./isolation.ts";
import { appSettings, deployed, ofType, required, sample } from "./templates.ts";

const network = [
  "Microsoft.Network/virtualNetworks",
  "Microsoft.Network/networkSecurityGroups",
  "Microsoft.Network/privateDnsZones",
  "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
];

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
      held(body.properties, "virtualNetworkSubnetId"),
    );
    const { core, client, connector } = existingResources.existingSubnetIds;
    expect(sites).toEqual([core, client, connector]);
    const [component] = ofType(given, "Microsoft.Insights/components");
    expect(held(component?.body.properties, "WorkspaceResourceId")).toBe(existingResources.existingWorkspaceId);
    for (const { body } of ofType(given, "Microsoft.Insights/scheduledQueryRules"))
      expect(held(body.properties, "actions.actionGroups")).toEqual([existingResources.existingActionGroupId]);
  });

  it("put private endpoints into their subnets and records into their zones", () => {
    const subnets = ofType(given, "Microsoft.Network/privateEndpoints").map(({ body }) =>
      held(body.properties, "subnet.id"),
    );
    const { authEndpoints, connectorEndpoints, coreEndpoint } = existingResources.existingSubnetIds;
    expect(new Set(subnets)).toEqual(new Set([authEndpoints, connectorEndpoints, coreEndpoint]));
    const zones = ofType(given, "Microsoft.Network/privateEndpoints/privateDnsZoneGroups").map(({ body }) =>
      held(body.properties, "privateDnsZoneConfigs.0.properties.privateDnsZoneId"),
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
      held(body.properties, "principalId"),
    );
    expect(new Set(principals)).toEqual(
      new Set(["principal of id-core", "principal of id-client", "principal of id-connector"]),
    );
    const [site] = ofType(given, "Microsoft.Web/sites");
    expect(Object.keys(held(site?.body, "identity.userAssignedIdentities") as object)).toEqual([
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

describe("private subnets", () => {
  const subnetsOf = (given: object) => {
    const [made] = ofType(deployed({ ...sample, ...given }), "Microsoft.Network/virtualNetworks");
    return held(made?.body.properties, "subnets") as readonly { name: string; properties: Record<string, unknown> }[];
  };

  it("are those of the private endpoints always, and those of the apps when there is another way out", () => {
    const open = (given: object) =>
      subnetsOf(given).flatMap(({ name, properties }) => (properties.defaultOutboundAccess === false ? [] : [name]));
    expect(open({})).toEqual(["core", "client", "connector"]);
    expect(open({ natGatewayId: "/nat" })).toEqual([]);
    expect(open({ routeTableId: "/routes" })).toEqual([]);
    const [core] = subnetsOf({ natGatewayId: "/nat", routeTableId: "/routes" });
    expect(core?.properties).toMatchObject({ natGateway: { id: "/nat" }, routeTable: { id: "/routes" } });
  });
});

describe("a set for trying out", () => {
  const range = "203.0.113.7/32";
  const trial = deployed({ ...sample, trial: true, coreDeployRange: range });

  it("has no network and no private endpoint, cheap storage, and vaults that can be purged", () => {
    for (const type of [...network, "Microsoft.Network/privateEndpoints"])
      expect(ofType(trial, type), type).toEqual([]);
    for (const { body } of ofType(trial, "Microsoft.Storage/storageAccounts"))
      expect([held(body, "sku.name"), held(body.properties, "publicNetworkAccess")]).toEqual([
        "Standard_LRS",
        "Enabled",
      ]);
    for (const { body } of ofType(trial, "Microsoft.KeyVault/vaults")) {
      expect(body.properties).not.toHaveProperty("enablePurgeProtection");
      // Azure does not change it later, and a trial may become a stage.
      expect(held(body.properties, "softDeleteRetentionInDays")).toBe(90);
    }
    for (const { body } of ofType(trial, "Microsoft.Web/sites"))
      expect(body.properties).not.toHaveProperty("virtualNetworkSubnetId");
  });

  it("takes no subnets of a platform team", () => {
    const given = { ...sample, trial: true, existingSubnetIds: existingResources.existingSubnetIds };
    expect(deployed(given).resources).toEqual(deployed({ ...sample, trial: true }).resources);
  });

  it("still has no shared keys and no passwords, and opens Core to one range of addresses alone", () => {
    for (const { body } of ofType(trial, "Microsoft.Storage/storageAccounts"))
      expect(held(body.properties, "allowSharedKeyAccess")).toBe(false);
    const core = (given: object) =>
      ofType(deployed({ ...sample, trial: true, ...given }), "Microsoft.Web/sites").find(({ way }) => way[0] === "core")
        ?.body.properties;
    expect(held(core({ coreDeployRange: range }), "siteConfig.ipSecurityRestrictions")).toEqual([
      expect.objectContaining({ action: "Allow", ipAddress: range }),
    ]);
    expect(held(core({ coreDeployRange: range }), "siteConfig.ipSecurityRestrictionsDefaultAction")).toBe("Deny");
    expect(held(core({}), "publicNetworkAccess")).toBe("Disabled");
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
    for (const { body } of locks) expect(held(body.properties, "level")).toBe("CanNotDelete");
    expect(ofType(deployed(), "Microsoft.Authorization/locks")).toEqual([]);
  });
});

describe("zones, cost and availability", () => {
  it("spreads each plan over zones, where that is asked for", () => {
    const plans = (zoneRedundant: boolean) =>
      ofType(deployed({ ...sample, zoneRedundant }), "Microsoft.Web/serverfarms").map(({ body }) =>
        held(body.properties, "zoneRedundant"),
      );
    expect(plans(true)).toEqual([true, true, true]);
    expect(plans(false)).toEqual([false, false, false]);
  });

  it("caps telemetry a day, where that is asked for", () => {
    const cap = (dailyCapGb: number) =>
      held(
        ofType(deployed({ ...sample, dailyCapGb }), "Microsoft.OperationalInsights/workspaces")[0]?.body.properties,
        "workspaceCapping.dailyQuotaGb",
      );
    expect([cap(0), cap(5)]).toEqual([-1, 5]);
  });

  const tested = { ...sample, availabilityTests: true };
  const urls = (given: object) =>
    ofType(deployed({ ...tested, ...given }), "Microsoft.Insights/webtests").map(({ body }) =>
      String(held(body.properties, "Request.RequestUrl")),
    );

  it("calls /health of both public apps from five places where that is asked for, and never Core's", () => {
    expect(urls({})).toEqual([
      expect.stringMatching(/^https:\/\/func-client-.*\/health$/),
      expect.stringMatching(/^https:\/\/func-connector-.*\/health$/),
    ]);
    expect(ofType(deployed(sample), "Microsoft.Insights/webtests")).toEqual([]);
    for (const { body } of ofType(deployed(tested), "Microsoft.Insights/webtests"))
      expect(new Set((held(body.properties, "Locations") as readonly { Id: string }[]).map(({ Id }) => Id)).size).toBe(
        5,
      );
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
    expect(alerts.map(({ body }) => held(body.properties, "criteria.webTestId"))).toEqual(tests);
    const [group] = ofType(deployment, "Microsoft.Insights/actionGroups");
    for (const { body } of alerts) {
      expect(held(body.properties, "criteria.failedLocationCount")).toBe(2);
      expect(held(body.properties, "actions.0.actionGroupId")).toBe(group?.id);
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
    expect(count("Microsoft.Insights/webtests")).toEqual([0, 0, 2]);
    const [plan] = ofType(of("prod"), "Microsoft.Web/serverfarms");
    expect(held(plan?.body.properties, "zoneRedundant")).toBe(true);
  });
});
