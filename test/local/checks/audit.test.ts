import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { emptyDirectory, endAll } from "../start/start-process.ts";

const root = join(import.meta.dirname, "../../..");
afterAll(endAll);

/** Runs the audit of this repository against a registry of its own. */
async function auditBy(answer: RequestListener): Promise<{ readonly code: number; readonly output: string }> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, ["local/checks/audit.ts"], {
    cwd: root,
    env: { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: emptyDirectory() },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const [code] = await once(child, "close");
  server.closeAllConnections();
  server.close();
  return { code: code as number, output };
}

const advisory = {
  id: 1,
  url: "https://example.com/advisory",
  title: "Reads too much",
  severity: "high",
  vulnerable_versions: "*",
  cwe: [],
  cvss: { score: 7, vectorString: null },
};

describe("npm run audit", () => {
  it("exits with 1 and names the vulnerable package", async () => {
    const { code, output } = await auditBy(({ method, url = "" }, response) => {
      const name = decodeURIComponent(url.slice(1));
      response.end(JSON.stringify(method === "POST" ? { zod: [advisory] } : { name, versions: {} }));
    });
    expect(output).toMatch(/zod[\s\S]*Severity: high[\s\S]*Reads too much/);
    expect(code).toBe(1);
  });

  it.each([
    ["has no audit", 405],
    ["fails", 500],
  ])("exits with 2 and says why where the registry %s", async (_, status) => {
    const { code, output } = await auditBy((_, response) => response.writeHead(status).end());
    expect(output).toMatch(/Vulnerabilities: not checked\. The registry gives no audit report: \S/);
    expect(code).toBe(2);
  });
});
