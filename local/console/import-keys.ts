import * as z from "zod";
import { connectApi } from "../../commands/api.ts";
import { createAsk } from "../../commands/import/calls.ts";
import { readKeyFiles } from "../../commands/import/otpkey-import.ts";
import { runImport } from "../../commands/import/run-import.ts";
import { maxBatch, sendKeys } from "../../commands/import/send.ts";
import type { paths } from "../../docs/openapi/core.ts";
import { instant } from "../../lib/platform/time.ts";

/** A file of OTP keys that was dropped on the page. */
export const keyFile = z.strictObject({ name: z.string(), text: z.string() });

const parallel = 4;

/** Imports the OTP keys of a file as `npm run import-otpkeys` does. Returns the outcome of each line, without secrets. */
export async function importKeyFile(file: z.output<typeof keyFile>, core: string, token: string, gone: AbortSignal) {
  const lines = readKeyFiles([file], { log: {}, pskc: {}, now: instant(Date.now()) });
  const api = connectApi<paths>(core, token, { prefix: "/core" });
  const ask = createAsk({
    service: "a Core API",
    url: core,
    stop: gone,
    cut: gone,
    waits: () => {},
  });
  const { lines: results, stopped } = await runImport(lines, {
    parallel,
    batch: maxBatch,
    stop: gone,
    tried: () => {},
    send: keys => sendKeys(keys, { replace: false }, { api, ask }),
  });
  return {
    stopped,
    lines: results.map(({ line, item, outcome, reason }) => ({ line, prefix: item?.prefix, outcome, reason })),
  };
}
