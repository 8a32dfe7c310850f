// What `npm audit --json` says, and which licences the deployed packages have.
import * as z from "zod";

const report = z.object({
  auditReportVersion: z.number(),
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      range: z.string(),
      via: z.array(z.union([z.string(), z.object({ title: z.string(), url: z.string().optional() })])),
      fixAvailable: z.union([z.boolean(), z.object({ name: z.string(), version: z.string() })]),
    }),
  ),
});
const failure = z.object({
  message: z.string().optional(),
  error: z.object({ summary: z.string(), detail: z.string() }).optional(),
});

export type Audit =
  /** One sentence a vulnerable package. */
  | { readonly findings: readonly string[] }
  /** There is no report, and why. */
  | { readonly unavailable: string };

/** @param output of `npm audit --json`, which has the reason in it where there is no report */
export function readAudit(output: string): Audit {
  const json = parsed(output);
  const good = report.safeParse(json);
  if (good.success) return { findings: Object.entries(good.data.vulnerabilities).map(sentence) };
  const { message = "", error } = failure.safeParse(json).data ?? {};
  const reason = [error?.summary, error?.detail, message].filter(text => text).join(" ");
  return { unavailable: reason || "npm gave no report and no reason" };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Vulnerability = z.output<typeof report>["vulnerabilities"][string];

function sentence([name, { severity, range, via, fixAvailable }]: [string, Vulnerability]): string {
  const advisories = via.map(one => (typeof one === "string" ? `by ${one}` : [one.title, one.url].join(" ").trim()));
  const fix =
    typeof fixAvailable === "object" ? `mended by ${fixAvailable.name} ${fixAvailable.version}` : "no mend named";
  return `${severity}: ${name} ${range}: ${advisories.join("; ")} (${fixAvailable === true ? "mended by a newer version" : fix})`;
}

/** Licences that require only their text in the package, which has it. */
const permissive: ReadonlySet<string> = new Set(["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD"]);

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ dev: z.boolean().optional(), link: z.boolean().optional(), license: z.string().optional() }),
  ),
});

/** Deployed packages whose licence a person should read, one sentence each. @param text of package-lock.json */
export function unusualLicences(text: string): readonly string[] {
  return Object.entries(lock.parse(JSON.parse(text)).packages)
    .filter(([path, { dev, link, license = "" }]) => {
      // The project and its workspace are folders outside node_modules; npm links the workspace into it.
      const isForeign = path.includes("node_modules/") && link !== true;
      return isForeign && dev !== true && !permissive.has(license);
    })
    .map(([path, { license = "none named" }]) => `${path.split("node_modules/").at(-1)}: licence ${license}`);
}
