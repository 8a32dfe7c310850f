// Imports users of another server (A25, G13).
import { runImportScript } from "./import/import-command.ts";
import { userImport } from "./import/user-import.ts";

await runImportScript(userImport, "import-users");
