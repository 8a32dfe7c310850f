// Development tool: writes down what settings there are.
import { writeFileSync } from "node:fs";
import { settingsFiles } from "./settings-files.ts";

for (const [path, text] of Object.entries(settingsFiles())) {
  writeFileSync(path, text);
  console.log(path);
}
