// Development tool: writes the files that describe settings and states.
import { writeFileSync } from "node:fs";
import { settingsFiles } from "./settings-files.ts";
import { statesFile } from "./states-file.ts";

for (const [path, text] of Object.entries({ ...settingsFiles(), ...statesFile() })) {
  writeFileSync(path, text);
  console.log(path);
}
