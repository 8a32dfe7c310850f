import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { atEndOfFile } from "../../support/run/end-of-file.ts";

/** A state of a deployment as the deployment site reports it, or a status of HTTP without one. */
export type Poll = { readonly status: number; readonly status_text?: string; readonly progress?: string } | number;

export interface SimulatedSite {
  /** Host and port of the app and of its deployment site. */
  readonly host: string;
  /** Every call with its method and path. */
  readonly calls: readonly string[];
  readonly packages: readonly { readonly bytes: Buffer; readonly authorization: string; readonly type: string }[];
  /** Statuses of the next uploads, before one is taken. */
  uploads: number[];
  /** Whether the firewall of the site refuses this machine. */
  refuses: () => boolean;
  /** Answers to the next polls; the last one stays. */
  polls: Poll[];
  /** Statuses of the next reads of /health; the last one stays. */
  health: number[];
}

/** Simulates a function app on Flex Consumption with its deployment site, by real HTTP. */
export async function simulatedSite(): Promise<SimulatedSite> {
  const calls: string[] = [];
  const packages: { bytes: Buffer; authorization: string; type: string }[] = [];
  const next = <T>(list: T[], otherwise: T): T => (list.length > 1 ? list.shift() : list[0]) ?? otherwise;
  const answer = async (request: IncomingMessage): Promise<readonly [number, unknown?]> => {
    const bytes = await buffer(request);
    if (request.url === "/api/publish?RemoteBuild=false") {
      const refused = site.uploads.shift();
      if (refused !== undefined) return [refused];
      if (site.refuses()) return [403];
      const { authorization = "", "content-type": type = "" } = request.headers;
      packages.push({ bytes, authorization, type });
      return [202, `deployment-${packages.length}`];
    }
    if (request.url?.startsWith("/api/deployments/deployment-")) {
      const poll = next(site.polls, { status: 4 });
      return typeof poll === "number" ? [poll] : [200, poll];
    }
    if (request.url?.endsWith("/health")) return [next(site.health, 200)];
    return [404];
  };
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body === undefined ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening));
  atEndOfFile(async () => void server.close());
  const { port } = server.address() as AddressInfo;
  const site: SimulatedSite = {
    host: `127.0.0.1:${port}`,
    calls,
    packages,
    uploads: [],
    polls: [],
    health: [],
    refuses: () => false,
  };
  return site;
}
