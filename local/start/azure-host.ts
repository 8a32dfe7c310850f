import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { azureHostMissing, findAzureHost } from "../azure-host/find-azure-host.ts";
import { type RunningAzureHost, startAzureHost } from "../azure-host/start-azure-host.ts";
import { describeSettings } from "../generate/describe-settings.ts";
import { hostSettings, settingSchemas } from "../generate/settings-files.ts";
import { buildPackage } from "../package/build.ts";
import { writePackage } from "../package/files.ts";
import { ownPlatform } from "../package/native.ts";
import { followLog, type OnLine } from "./follow-log.ts";

interface AzureHostStart {
  readonly directory: string;
  readonly port: number;
  /** Name of the folder for what the host writes, in the directory. */
  readonly folder: string;
  /** Settings of the local system, which the environment has too. */
  readonly settings: Readonly<Record<string, string>>;
  readonly connectionString: string;
  readonly onLine: OnLine;
}

/** Packs the app as it is deployed, and starts it on Azure's Functions host. Throws if there is no such host. */
export async function runAzureHost(start: AzureHostStart): Promise<RunningAzureHost & { readonly logPath: string }> {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const program = findAzureHost(process.env, root);
  if (program === undefined) throw new Error(`--host func: ${azureHostMissing}.`);
  const app = join(start.directory, "package");
  writePackage(app, await buildPackage(root, ownPlatform(root)));
  const folder = join(start.directory, start.folder);
  mkdirSync(folder, { recursive: true });
  const settings = {
    ...hostSettings,
    ...environmentFor(start.settings),
    AzureWebJobsStorage: start.connectionString,
  };
  const host = await startAzureHost(program, { app, folder, settings, port: start.port });
  const logPath = join(folder, "host.log");
  const endFollowing = followLog(logPath, start.onLine);
  const ended = host.gone().then(endFollowing);
  return { ...host, logPath, stop: () => Promise.all([host.stop(), ended]).then(() => {}) };
}

/** Settings outside the schemas that reach the host: its own, and those of telemetry. */
const otherSetting = /^(?:AzureWebJobs|FUNCTIONS_REQUEST|OTEL_|APPLICATIONINSIGHTS_|DOTNET_)/;

/** Returns the variables of the environment that are settings, without what else a terminal has there. */
function environmentFor(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const names = new Set([
    ...Object.keys(settings),
    ...Object.values(settingSchemas).flatMap(schema => describeSettings(schema).map(({ name }) => name)),
  ]);
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && (names.has(name) || otherSetting.test(name)) ? [[name, value]] : [],
    ),
  );
}
