// Imports OTP keys from the files of key makers (A18, G13).
import { runImportScript } from "./import/import-command.ts";
import { otpkeyImport } from "./import/otpkey-import.ts";

await runImportScript(otpkeyImport, "import-otpkeys");
