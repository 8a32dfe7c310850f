// `npm run audit`, and a check of `npm test`: known vulnerabilities and licences of what is deployed. Exits with 1 on a finding, with 2
// when the registry gave no report.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readAudit, unusualLicences } from "./audit-report.ts";

const licences = unusualLicences(readFileSync("package-lock.json", "utf8"));
for (const sentence of licences) console.log(sentence);
const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json", "--fetch-retries=0", "--fetch-timeout=20000"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
  shell: process.platform === "win32",
  maxBuffer: 64 * 1024 * 1024,
});
const audit = readAudit(stdout ?? "");
if ("unavailable" in audit) {
  console.error(`Vulnerabilities: not checked. The registry gives no audit report: ${audit.unavailable}`);
  console.error("Run `npm run audit` where npm's own registry can be reached.");
  process.exitCode = licences.length > 0 ? 1 : 2;
} else {
  for (const sentence of audit.findings) console.log(sentence);
  console.log(`Vulnerabilities: ${audit.findings.length}. Licences to read: ${licences.length}.`);
  process.exitCode = audit.findings.length + licences.length > 0 ? 1 : 0;
}
