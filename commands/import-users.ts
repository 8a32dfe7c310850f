// Imports users of another server (A25, G13).
import { runImportCommand } from "./import/import-command.ts";
import { userImport } from "./import/user-import.ts";

// A reader such as `head` may close the pipe early. That does not stop the import.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// Paths are relative to the directory in which npm was called; npm runs scripts in the package's directory.
if (process.env.npm_lifecycle_event === "import-users") process.chdir(process.env.INIT_CWD ?? ".");

process.exitCode = await runImportCommand(userImport, process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  now: () => performance.now(),
});
