// What `npm audit --json` says, and which licences the deployed packages have.
import * as z from "zod";

const report = z.object({ vulnerabilities: z.record(z.string(), z.unknown()) });
const failure = z.object({
  message: z.string().optional(),
  error: z.object({ summary: z.string(), detail: z.string() }).optional(),
});

/** Returns the number of vulnerable packages, or why there is no report. @param output of `npm audit --json` */
export function readAudit(output: string): { readonly vulnerable: number } | { readonly unavailable: string } {
  const json = parsed(output);
  const { data } = report.safeParse(json);
  if (data !== undefined) return { vulnerable: Object.keys(data.vulnerabilities).length };
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
