import { isObject } from "./json.ts";
import type { Deployed } from "./templates.ts";

/** App settings that Flex Consumption has moved elsewhere, ignores, or cannot do without keys (Azure's list of deprecations). */
const settings = [
  "FUNCTIONS_WORKER_RUNTIME",
  "FUNCTIONS_WORKER_RUNTIME_VERSION",
  "FUNCTIONS_EXTENSION_VERSION",
  "FUNCTIONS_WORKER_PROCESS_COUNT",
  "FUNCTIONS_MAX_HTTP_CONCURRENCY",
  "FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED",
  "WEBSITE_NODE_DEFAULT_VERSION",
  "WEBSITE_RUN_FROM_PACKAGE",
  "WEBSITE_CONTENTSHARE",
  "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
  "WEBSITE_CONTENTOVERVNET",
  "WEBSITE_SKIP_CONTENTSHARE_VALIDATION",
  "WEBSITE_VNET_ROUTE_ALL",
  "WEBSITE_MAX_DYNAMIC_APPLICATION_SCALE_OUT",
  "WEBSITE_LOAD_CERTIFICATES",
  "WEBSITE_TIME_ZONE",
  "TZ",
  "SCM_DO_BUILD_DURING_DEPLOYMENT",
  "ENABLE_ORYX_BUILD",
  "AzureWebJobsStorage",
];

/** Properties of a site and its siteConfig that Flex Consumption refuses or ignores. */
const properties = [
  "linuxFxVersion",
  "nodeVersion",
  "alwaysOn",
  "use32BitWorkerProcess",
  "functionAppScaleLimit",
  "preWarmedInstanceCount",
  "containerSize",
  "ftpsState",
  "vnetRouteAllEnabled",
  "websiteTimeZone",
];

/** What in the resources does not fit a Flex Consumption app; the compiler is silent on all of it. */
export function flexFaults(resources: readonly Deployed[]): readonly string[] {
  const plans = resources.filter(({ type }) => type === "Microsoft.Web/serverfarms");
  const sites = resources.filter(({ type }) => type === "Microsoft.Web/sites");
  const lists = resources.filter(({ type, last }) => type === "Microsoft.Web/sites/config" && last === "appsettings");
  return [
    ...plans.flatMap(planFaults),
    ...sites.flatMap(site => siteFaults(site, plans)),
    ...lists.flatMap(({ name, body }) =>
      Object.keys(body.properties ?? {})
        .filter(setting => settings.some(each => each.toLowerCase() === setting.toLowerCase()))
        .map(setting => `${name}: ${setting} is nothing on Flex Consumption`),
    ),
    ...(plans.length === sites.length ? [] : [`${plans.length} plans for ${sites.length} apps: each needs its own`]),
  ];
}

function planFaults({ name, body }: Deployed): readonly string[] {
  const { sku, kind, properties: given } = body;
  const right =
    isObject(sku) && sku.name === "FC1" && sku.tier === "FlexConsumption" && isObject(given) && given.reserved === true;
  return right && kind === "functionapp" ? [] : [`${name}: no plan of Flex Consumption on Linux`];
}

function siteFaults({ name, body }: Deployed, plans: readonly Deployed[]): readonly string[] {
  const given = isObject(body.properties) ? body.properties : {};
  const config = isObject(given.siteConfig) ? given.siteConfig : {};
  const app = isObject(given.functionAppConfig) ? given.functionAppConfig : {};
  const runtime = isObject(app.runtime) ? app.runtime : {};
  const scale = isObject(app.scaleAndConcurrency) ? app.scaleAndConcurrency : {};
  const instances = Number(scale.maximumInstanceCount);
  const say = (wrong: boolean, sentence: string) => (wrong ? [`${name}: ${sentence}`] : []);
  return [
    ...properties
      .filter(each => each in given || each in config)
      .map(each => `${name}: ${each} is refused or ignored on Flex Consumption`),
    ...say(body.kind !== "functionapp,linux", "no function app on Linux"),
    ...say(!plans.some(({ id }) => id === given.serverFarmId), "its plan is not here"),
    ...say("appSettings" in config, "settings stand beside the list of settings, which replaces them"),
    ...say(
      runtime.name !== "node" || !["22", "24"].includes(String(runtime.version)),
      "no version of Node that it offers",
    ),
    ...say(!(instances >= 40 && instances <= 1000), "from 40 to 1000 instances"),
    ...say(![2048, 4096].includes(Number(scale.instanceMemoryMB)), "2048 or 4096 MB"),
  ];
}
