import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { BrowserContextOptions, Page } from "playwright-core";
import { launchBrowser } from "../../../local/browser/browser.ts";

export interface OpenPage {
  readonly page: Page;
  /** What went wrong in the page: uncaught errors, and what the browser refused or could not load. */
  readonly troubles: readonly string[];
  /** Addresses that the page asked for. */
  readonly asked: readonly string[];
}

export interface TestBrowser {
  /** Opens an address in a context of its own. */
  open(address: string, options?: BrowserContextOptions): Promise<OpenPage>;
  /** Closes what was opened, so that no page goes on calling. */
  closePages(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the project's own browser for one test file. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launchBrowser();
  return {
    open: async (address, options = {}) => {
      const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      const troubles: string[] = [];
      const asked: string[] = [];
      page.on("pageerror", error => troubles.push(error.message));
      page.on("console", message => {
        if (message.type() === "error") troubles.push(message.text());
      });
      page.on("request", request => asked.push(request.url()));
      await page.goto(address);
      return { page, troubles, asked };
    },
    closePages: async () => {
      await Promise.all(browser.contexts().map(context => context.close()));
    },
    close: () => browser.close(),
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations that axe-core finds in the page. */
export async function violations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  return page.evaluate(
    "axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ' ' + html)))",
  );
}
