import { instant } from "../../lib/platform/time.ts";
import { type ImportArguments, importArguments } from "./arguments.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import type { ImportKind } from "./import-command.ts";
import { readPassphrase, readPreSharedKey, readTexts } from "./inputs.ts";
import { readLines } from "./lines.ts";
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
    return readLines(await readTexts(given.files), { log: given.log, pskc, now: instant(Date.now()) });
  },
  send: sendKeys,
  columns: { prefix: ({ prefix }) => prefix, kind: ({ kind }) => kind },
};
