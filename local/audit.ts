// `npm run audit`: known vulnerabilities and licences of what is deployed. Ends with 1 on a finding, 2 where nobody could tell.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readAudit, unusualLicences } from "./audit-report.ts";

const licences = unusualLicences(readFileSync("package-lock.json", "utf8"));
for (const sentence of licences) console.log(sentence);
const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
  shell: process.platform === "win32",
  maxBuffer: 64 * 1024 * 1024,
});
const audit = readAudit(stdout ?? "");
if ("unavailable" in audit) {
  console.error(`Vulnerabilities: not known. The registry gives no audit: ${audit.unavailable}`);
  console.error("Run it where npm's own registry is reached: npm run audit --registry https://registry.npmjs.org");
  process.exitCode = 2;
} else {
  for (const sentence of audit.findings) console.log(sentence);
  console.log(`Vulnerabilities: ${audit.findings.length}. Licences to read: ${licences.length}.`);
  process.exitCode = audit.findings.length + licences.length > 0 ? 1 : 0;
}
