// `npm run audit`, and a check of `npm test`: known vulnerabilities and licences of what is deployed. Exits with 1 on a finding, with 2
// when the registry gave no report.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readAudit, unusualLicences } from "./audit-report.ts";

const licences = unusualLicences(readFileSync("package-lock.json", "utf8"));
for (const sentence of licences) console.log(sentence);
const audit = (output: "pipe" | "inherit", ...more: readonly string[]): string =>
  spawnSync("npm", ["audit", "--omit=dev", "--fetch-retries=0", "--fetch-timeout=20000", ...more], {
    encoding: "utf8",
    stdio: ["ignore", output, "ignore"],
    shell: process.platform === "win32",
    maxBuffer: 64 * 1024 * 1024,
  }).stdout ?? "";
const result = readAudit(audit("pipe", "--json"));
if ("unavailable" in result) {
  console.error(`Vulnerabilities: not checked. The registry gives no audit report: ${result.unavailable}`);
  console.error("Run `npm run audit` where npm's own registry can be reached.");
  process.exitCode = licences.length > 0 ? 1 : 2;
} else {
  if (result.vulnerable > 0) audit("inherit");
  console.log(`Vulnerabilities: ${result.vulnerable}. Licences to read: ${licences.length}.`);
  process.exitCode = result.vulnerable + licences.length > 0 ? 1 : 0;
}
