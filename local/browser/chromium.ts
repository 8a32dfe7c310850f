import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inflate } from "@sparticuz/chromium";

const run = promisify(execFile);

/** A Chromium that can be started, and the environment that it needs. */
export interface Chromium {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The package contains libraries and one typeface, so that a bare machine is enough. */
const packs = ["chromium.br", "al2023.tar.br", "fonts.tar.br"];

/**
 * Returns the Chromium of the npm package, which is unpacked once next to the packages (3 s, 213 MB), or that of CHROMIUM_PATH,
 * for machines that the package does not support. Rejects with what is missing if it cannot start.
 */
export async function bundledChromium(): Promise<Chromium> {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH) return { path: CHROMIUM_PATH, env: {} };
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The bundled Chromium is for Linux on x64. Name another by CHROMIUM_PATH.");
  const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
  const found = join(modules, "@sparticuz", "chromium");
  const { version } = JSON.parse(readFileSync(join(found, "package.json"), "utf8"));
  const home = join(modules, ".cache", `chromium-${version}`);
  if (!existsSync(home)) await unpack(join(found, "bin"), home);
  const chromium = {
    path: join(home, "chromium"),
    env: { LD_LIBRARY_PATH: join(home, "al2023", "lib"), FONTCONFIG_FILE: join(home, "fonts.conf") },
  };
  await refuseMissingLibraries(chromium);
  return chromium;
}

/** The first process that renames has unpacked for all. */
async function unpack(bin: string, home: string): Promise<void> {
  mkdirSync(dirname(home), { recursive: true });
  const draft = mkdtempSync(`${home}-`);
  await inflateInto(
    draft,
    packs.map(pack => join(bin, pack)),
  );
  writeFileSync(join(draft, "fonts.conf"), fontconfig(home));
  try {
    renameSync(draft, home);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(home)) throw error;
  }
}

/** The package unpacks into the directory that is the temporary one when it is called. */
async function inflateInto(directory: string, archives: readonly string[]): Promise<void> {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = directory;
  const inflating = archives.map(archive => inflate(archive));
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  await Promise.all(inflating);
}

/** Chromium ends at the first text if there is no typeface. */
const fontconfig = (home: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(home, "fonts", "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(home, "fonts-cache")}</cachedir>
</fontconfig>
`;

async function refuseMissingLibraries({ path, env }: Chromium): Promise<void> {
  const { stdout } = await run("ldd", [path], { env: { ...process.env, ...env } });
  const missing = [...stdout.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name);
  if (missing.length > 0)
    throw new Error(`The bundled Chromium needs ${missing.join(", ")}, which this machine lacks.`);
}
