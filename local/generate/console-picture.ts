// Development tool: takes the picture of the local console that the README shows: one request, partly activated.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/v2/read-credential-request.ts";
import { launchBrowser } from "../browser/browser.ts";
import { sampleOrder } from "../console/sample-order.ts";
import { launchSystem } from "../demo/system.ts";

const path = fileURLToPath(new URL("../../docs/images/console.png", import.meta.url));
const longestMs = 120_000;
const shipped = 103;
const shipments = z.array(z.object({ state: z.number() }));

const onSiteKey = { name: "Ada's Badge", credentials: [{ idp_id: "pingone", user_id: "ada@example.com" }] };

const end = AbortSignal.timeout(longestMs);
const [browser, system] = [await launchBrowser(), launchSystem()];
try {
  const ended = system.ended.then(() => Promise.reject(new Error(system.log())));
  const { host, tokens, peers, console: address } = await Promise.race([system.ready, ended]);
  const call = async (method: string, route: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${tokens.connector}`, "content-type": "application/json" };
    const response = await fetch(host + route, {
      method,
      headers,
      signal: end,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${route} returned ${response.status}: ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  };
  const areShipped = async (): Promise<boolean> => {
    const response = await fetch(`${peers.delivery}/_control/shipments`, { signal: end });
    return shipments.parse(await response.json()).every(({ state }) => state === shipped);
  };

  const created = createdV2.parse(
    await call("POST", "/v2/credential-requests", { ...sampleOrder, authenticators: [onSiteKey] }),
  );
  const page = await browser.newPage({ colorScheme: "light", locale: "en-GB", viewport: { width: 1200, height: 610 } });
  page.setDefaultTimeout(longestMs);
  await page.goto(`${address}/#/request/${created.data.credential_request_id}`);
  await page.getByText("processing").first().waitFor();
  while (!(await areShipped())) await page.waitForTimeout(200);
  await call("GET", "/v2/operations/process-shipments");
  await page.getByText("activation_pending").first().waitFor();
  await call("POST", "/v2/operations/process-credential-requests");
  await page.locator(".view .badge").getByText("complete", { exact: true }).nth(1).waitFor();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, await page.screenshot());
  console.log(path);
} finally {
  await Promise.all([browser.close(), system.close()]);
}
