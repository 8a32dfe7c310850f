// Imports OTP keys from the files of key makers (A18, G13).
import { runImportCommand } from "./import/import-command.ts";
import { otpkeyImport } from "./import/otpkey-import.ts";

// A reader such as `head` may close the pipe early. That does not stop the import.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// Paths are relative to the directory in which npm was called; npm runs scripts in the package's directory.
if (process.env.npm_lifecycle_event === "import-otpkeys") process.chdir(process.env.INIT_CWD ?? ".");

process.exitCode = await runImportCommand(otpkeyImport, process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  now: () => performance.now(),
});
