// Development tool: takes the pictures of the local console that the README shows: the overview, and one request with its
// timeline and its events.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/read-credential-request.ts";
import { launchBrowser } from "../browser/browser.ts";
import { sampleOrder } from "../console/sample-order.ts";
import { launchSystem } from "../demo/system.ts";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
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
  const page = await browser.newPage({ colorScheme: "light", locale: "en-GB", viewport: { width: 1280, height: 760 } });
  page.setDefaultTimeout(longestMs);
  mkdirSync(folder, { recursive: true });
  const take = async (name: string) => {
    const path = join(folder, name);
    writeFileSync(path, await page.screenshot());
    console.log(path);
  };
  await page.goto(`${address}/#/request/${created.data.credential_request_id}`);
  await page.getByText("The request is started").waitFor();
  while (!(await areShipped())) await page.waitForTimeout(200);
  await call("GET", "/v2/operations/process-shipments");
  await call("POST", "/v2/operations/process-credential-requests");
  await page.locator(".key .badge").getByText("complete", { exact: true }).nth(1).waitFor();
  await page.locator(".timeline").getByText("PIN for security key").first().waitFor();
  await take("console-request.png");
  await page.getByRole("button", { name: "Events", exact: true }).click();
  await page.locator(".timeline").getByText("Sink 1 delivered").first().waitFor();
  while ((await page.locator(".timeline").getByText("Sink 1 pending").count()) > 0) await page.waitForTimeout(200);
  await page.locator(".timeline").scrollIntoViewIfNeeded();
  await take("console-events.png");
  await call("POST", "/v2/credential-requests", sampleOrder);
  await page.goto(`${address}/#/`);
  await page.getByText("2 keys to be shipped").waitFor();
  await page
    .getByRole("link", { name: /^PIN for security key/ })
    .nth(1)
    .waitFor();
  await take("console.png");
} finally {
  await Promise.all([browser.close(), system.close()]);
}
