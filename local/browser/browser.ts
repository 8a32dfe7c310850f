import { type Browser, chromium } from "playwright-core";
import { bundledChromium } from "./chromium.ts";

/** Starts the project's own browser with a fresh profile. It can only resolve names of this machine. */
export async function launchBrowser(): Promise<Browser> {
  const { path, env } = await bundledChromium();
  return chromium.launch({
    executablePath: path,
    env: { ...process.env, ...env },
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}
