// Development tool: writes the files that describe settings.
import { writeFileSync } from "node:fs";
import { settingsFiles } from "./settings-files.ts";

for (const [path, text] of Object.entries(settingsFiles())) {
  writeFileSync(path, text);
  console.log(path);
}
