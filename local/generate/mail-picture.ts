// Development tool: takes the picture of the PIN email that the README shows, as a telephone shows it in light and in dark.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { composePinMail } from "../../lib/connector/pin/compose-pin-mail.ts";
import { launchBrowser } from "../browser/browser.ts";

/** In CSS pixels, as on the narrowest telephones on sale. */
const width = 320;
const path = fileURLToPath(new URL("../../docs/images/pin-mail.png", import.meta.url));

const { html } = composePinMail(
  {
    serial: "30000001",
    keyName: "Ada Key",
    userIds: ["ada@example.com", "a.lovelace@keys.example.com"],
    pin: "482913",
    trackingNumber: "JD0146000030",
  },
  {
    language: "en",
    organization: "Example Corp",
    supportContact: "support@example.com",
    signInUrl: "https://sign-in.example.com",
  },
);

const browser = await launchBrowser();
try {
  const pictures = [await shot(browser, "light"), await shot(browser, "dark")];
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, await besides(browser, pictures));
  console.log(path);
} finally {
  await browser.close();
}

/** Returns a picture of the whole email. */
async function shot(browser: Browser, colorScheme: "light" | "dark"): Promise<Buffer> {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 200 }, deviceScaleFactor: 1 });
  await page.setContent(html);
  return page.screenshot({ fullPage: true });
}

/** Returns both pictures side by side on a transparent background. */
async function besides(browser: Browser, pictures: readonly Buffer[]): Promise<Buffer> {
  const page = await browser.newPage({ viewport: { width: 3 * width, height: 200 }, deviceScaleFactor: 1 });
  const images = pictures.map(
    picture =>
      `<img src="data:image/png;base64,${picture.toString("base64")}" width="${width}" style="border: 1px solid #808080; border-radius: 12px;">`,
  );
  await page.setContent(
    `<!doctype html><main style="display: flex; gap: 24px; align-items: start; width: max-content;">${images.join("")}</main>`,
  );
  return page.locator("main").screenshot({ omitBackground: true });
}
