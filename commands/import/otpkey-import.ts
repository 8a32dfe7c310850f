import { type Instant, instant } from "../../lib/platform/time.ts";
import { type ImportArguments, importArguments } from "./arguments.ts";
import type { ImportKey } from "./formats/check-key.ts";
import { type LogOptions, readPersonalisationLog } from "./formats/personalisation-log.ts";
import { readPskc } from "./formats/pskc.ts";
import type { PskcSecrets } from "./formats/pskc-encryption-key.ts";
import type { ImportKind } from "./import-command.ts";
import { readPassphrase, readPreSharedKey, readTexts } from "./inputs.ts";
import { type Line, linesOf, withoutDuplicates } from "./lines.ts";
import { sendKeys } from "./send.ts";

/** The import of OTP keys from the files of key makers (A18). */
export const otpkeyImport: ImportKind<ImportArguments, ImportKey> = {
  noun: "key",
  parseArguments: importArguments,
  readLines: async (given, { PSKC_KEY, PSKC_PASSPHRASE }) => {
    const pskc = {
      preSharedKey: await readPreSharedKey(given.pskcKeyFile, PSKC_KEY),
      passphrase: await readPassphrase(given.pskcPassphraseFile, PSKC_PASSPHRASE),
    };
    return readKeyFiles(await readTexts(given.files), { log: given.log, pskc, now: instant(Date.now()) });
  },
  send: sendKeys,
  columns: { prefix: ({ prefix }) => prefix, kind: ({ kind }) => kind },
};

interface ReadingOptions {
  readonly log: LogOptions;
  readonly pskc: PskcSecrets;
  readonly now: Instant;
}

/**
 * Reads the OTP keys of files. A personalisation log grows at its end, so the last of several lines with one prefix is
 * the current state of the key.
 */
export function readKeyFiles(
  files: readonly { readonly name: string; readonly text: string }[],
  { log, pskc, now }: ReadingOptions,
): readonly Line<ImportKey>[] {
  const lines = files.flatMap(({ name, text }) => {
    const isXml = /^\ufeff?\s*</.test(text);
    return linesOf(name, isXml ? readPskc(text, { ...pskc, now }) : readPersonalisationLog(text, log), "OTP key");
  });
  return withoutDuplicates(lines, ({ prefix }) => prefix, "prefix", "last");
}
