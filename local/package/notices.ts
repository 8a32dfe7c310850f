// The licences of what is bundled: most of them ask to go with every copy.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of the package's licences file. @param folders of packages, below `root` */
export function notices(root: string, folders: readonly string[]): string {
  const parts = folders.map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const files = readdirSync(join(root, folder)).filter(file => /^(licen[cs]e|notice|copying)\b/i.test(file));
    const texts = files.sort().map(file => readFileSync(join(root, folder, file), "utf8").trim());
    return [`${name} ${version} (${license ?? "licence not named"})`, ...texts].join("\n\n").replaceAll("\r\n", "\n");
  });
  return `${["The bundle holds these packages.", ...parts].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
