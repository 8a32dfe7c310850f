import { describe, expect, it } from "vitest";
import { valueAt } from "./json.ts";
import { deployed, deployedByHand, ofType, outline, token, waitsFor } from "./templates.ts";

describe("a deployment", () => {
  it("creates no resource twice, in any case of letters", () => {
    const ids = deployed().resources.map(({ id }) => id.toLowerCase());
    expect(ids.length).toBeGreaterThan(80);
    expect(ids.filter((id, position) => ids.indexOf(id) !== position)).toEqual([]);
  });

  it("has names that Azure accepts: at most 24 characters for a store or a vault, and only small letters and digits for a store", () => {
    for (const { name } of ofType(deployed(), "Microsoft.Storage/storageAccounts"))
      expect(name).toMatch(/^[a-z0-9]{3,24}$/);
    for (const { name } of ofType(deployed(), "Microsoft.KeyVault/vaults"))
      expect(name).toMatch(/^[a-z][a-z0-9-]{2,23}$/);
    expect(token).toMatch(/^[a-z0-9]{13}$/);
  });
});

describe("each app", () => {
  const apps = ofType(deployed(), "Microsoft.Web/sites").map(({ body }) => body);

  it("has a plan of its own, of Flex Consumption on Linux, and what that needs", () => {
    const plans = ofType(deployed(), "Microsoft.Web/serverfarms");
    expect(apps.map(({ properties }) => valueAt(properties, "serverFarmId"))).toEqual(plans.map(({ id }) => id));
    for (const { body } of plans)
      expect(body).toMatchObject({
        sku: { name: "FC1", tier: "FlexConsumption" },
        kind: "functionapp",
        properties: { reserved: true },
      });
    for (const { kind, properties } of apps) {
      expect(kind).toBe("functionapp,linux");
      expect(properties).toMatchObject({
        functionAppConfig: {
          runtime: { name: "node", version: "24" },
          scaleAndConcurrency: { maximumInstanceCount: 40 },
        },
      });
    }
  });

  // Flex Consumption refuses or ignores others, such as linuxFxVersion, alwaysOn, ftpsState or vnetRouteAllEnabled, and
  // settings there would stand beside the list of settings, which replaces them. The compiler is silent on all of it.
  it("has no property but these", () => {
    for (const { properties } of apps) {
      expect(Object.keys(properties as object).sort()).toEqual([
        "clientAffinityEnabled",
        "functionAppConfig",
        "httpsOnly",
        "outboundVnetRouting",
        "publicNetworkAccess",
        "serverFarmId",
        "siteConfig",
        "virtualNetworkSubnetId",
      ]);
      expect(
        Object.keys(valueAt(properties, "siteConfig") as object).filter(name => !/ipSecurity/i.test(name)),
      ).toEqual(["http20Enabled", "minTlsVersion", "scmMinTlsVersion"]);
    }
  });
});

describe("a secret on its way to a vault", () => {
  // The compiler writes the value of a parameter that is not secure into the snapshot.
  it("is known to nobody who may read deployments, because each parameter on its way is secure", () => {
    const values = ofType(deployed("static-tokens"), "Microsoft.KeyVault/vaults/secrets").map(({ name, body }) => [
      name.replace(`-${token}`, ""),
      valueAt(body.properties, "value"),
    ]);
    const newKey = (name: string) => `[coalesce(tryGet(parameters('newKeys'), '${name}'), '')]`;
    expect(values.toSorted()).toEqual([
      ["kv-auth/core-api-tokens", "none"],
      ["kv-auth/data-encryption-key", newKey("authData")],
      ["kv-auth/password-pepper", newKey("authPepper")],
      ["kv-conn/connector-api-tokens", "none"],
      ["kv-conn/data-encryption-key", newKey("connectorData")],
    ]);
    expect(outline["main.bicep"].secure).toEqual({
      authVault: ["dataEncryptionKey", "passwordPepper"],
      connectorVault: ["dataEncryptionKey", "passwordPepper"],
    });
    const secure = Object.entries(outline["main.bicep"].parameters).filter(([, { type = "" }]) =>
      /^secure/i.test(type),
    );
    expect(secure.map(([name]) => name)).toEqual(["newKeys"]);
  });
});

const { order } = outline["main.bicep"];

describe("nested deployments", () => {
  const names = Object.values(order).flatMap(({ type, name = "" }) =>
    type === "Microsoft.Resources/deployments" ? [name] : [],
  );

  it("are few, because Azure keeps 800 in a group, and none is deleted while a lock is on the group", () => {
    expect(names).toHaveLength(15);
  });

  it("have the same names in each run, and others in another environment of the group", () => {
    for (const name of names) expect(name).toMatch(/^\[format\('[a-z-]+-\{0\}', variables\('token'\)\)\]$/);
  });
});

describe("the order of a deployment", () => {
  it.each([
    ["core", ["authStore", "authVault", "monitoring"]],
    ["client", ["authStore", "authVault", "monitoring"]],
    ["connector", ["connectorStore", "connectorVault", "monitoring", "mail"]],
  ])("creates the roles of %s before the app, which needs them to start", (app, modules) => {
    expect(waitsFor(app)).toEqual(expect.arrayContaining(modules));
    for (const each of modules) {
      const roles = Object.entries(order).filter(
        ([way, { type }]) => way.startsWith(`${each}/`) && /roleAss/.test(type),
      );
      expect(roles, each).not.toEqual([]);
    }
  });

  it.each(["authStore", "connectorStore", "authVault", "connectorVault", "core", "client", "connector"])(
    "creates the network and its DNS before %s and its endpoints",
    name => {
      expect(waitsFor(name)).toEqual(expect.arrayContaining(["network", "dns"]));
    },
  );

  it.each(["authStore", "connectorStore"])(
    "creates the endpoints of %s last and one after the other, because each locks the account for a while",
    store => {
      const endpoints = `${store}/endpoints`;
      expect(waitsFor(endpoints)).toEqual(expect.arrayContaining(["serviceContainers", "serviceTables"]));
      expect(order[endpoints]?.loop).toEqual({ mode: "serial", batchSize: 1 });
    },
  );

  it("creates the endpoint of Core last, because it writes to the app", () => {
    expect(waitsFor("core/endpoint")).toEqual(
      expect.arrayContaining(["site", "noFtpPassword", "noDeployPassword", "appSettings"]),
    );
  });

  it("creates the endpoints of one subnet one after the other, because Azure may refuse two at once", () => {
    for (const service of ["auth", "connector"]) expect(waitsFor(`${service}Vault`)).toContain(`${service}Store`);
  });

  it("creates one subnet after the other, because Azure refuses two changes of a network at once", () => {
    for (const loop of ["made", "added"])
      expect(order[`network/${loop}`]?.loop).toEqual({ mode: "serial", batchSize: 1 });
  });

  it("creates the secrets of a vault and its endpoint one after the other, because each changes the vault", () => {
    const names = ["dataKey", "pepper", "tokenHashes", "endpoint"];
    for (const [position, name] of names.entries())
      expect(waitsFor(`authVault/${name}`)).toEqual(expect.arrayContaining(names.slice(0, position)));
  });

  it("lets only the connector wait for mail, so that Core and Client do not fail with it", () => {
    expect(waitsFor("connector")).toEqual(expect.arrayContaining(["mail", "mailOrigin"]));
    for (const app of ["core", "client", "alerts"])
      expect(waitsFor(app).filter(name => name.startsWith("mail"))).toEqual([]);
  });
});

it("secret.bicep puts one secret into a vault, with an end", () => {
  const [secret] = deployedByHand("secret.bicep").resources;
  expect(secret?.name).toBe("kv-conn-sample/delivery-api-token");
  expect(secret?.body.properties).toEqual({ value: "[parameters('value')]", attributes: { exp: 1_900_000_000 } });
});

it("backup-role.bicep gives each app a role for the backups of its own service, and for no others in the container", () => {
  const { resources } = deployedByHand("backup-role.bicep");
  const blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";
  const action = (name: string) => `ActionMatches{'${blobs}/${name}'}`;
  const others = ["write", "add/action", "delete"].map(name => ` AND !(${action(name)})`).join("");
  const condition = (path: string) =>
    `((!(${action("read")} AND NOT SubOperationMatches{'Blob.List'})${others}) OR (@Resource[${blobs}:path] StringStartsWith '${path}'))` +
    ` AND (!(${action("read")} AND SubOperationMatches{'Blob.List'}) OR (@Request[${blobs}:prefix] StringStartsWith '${path}'))`;
  expect(resources.map(({ body }) => body.properties)).toEqual(
    [
      ["core", "auth/"],
      ["connector", "connector/"],
    ].map(([principalId, path = ""]) => ({
      roleDefinitionId: expect.stringMatching(/\/ba92f5b4-2d11-453d-a403-e96b0029c9fe$/),
      principalId,
      principalType: "ServicePrincipal",
      condition: condition(path),
      conditionVersion: "2.0",
    })),
  );
  for (const { id } of resources) expect(id).toContain("/stcopies/blobServices/default/containers/backups/providers/");
});
