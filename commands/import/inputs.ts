import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";

/** Enough for more than 100,000 keys. Inputs are kept in memory, because the last line of a log can replace the first. */
const maxBytes = 32 * 1024 * 1024;

/** Reads a file, a pipe, or standard input for `-`. Throws an error that names the input and quotes nothing of it. */
async function readInput(name: string, max = maxBytes): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  const source: Readable = name === "-" ? process.stdin : createReadStream(name);
  try {
    for await (const chunk of source) {
      length += (chunk as Buffer).length;
      if (length > max) break;
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${shownName(name)} cannot be read${code === undefined ? "" : ` (${code})`}.`);
  }
  if (length <= max) return Buffer.concat(chunks);
  throw new Error(`${shownName(name)} has more than ${Math.round(max / 1024)} KiB: split it.`);
}

/** Reads key files as text. The size limit is for all files together. Throws like `readInput`. */
export async function readTexts(names: readonly string[]): Promise<readonly { name: string; text: string }[]> {
  const texts: { name: string; text: string }[] = [];
  let remaining = maxBytes;
  for (const name of names) {
    const bytes = await readInput(name, remaining);
    remaining -= bytes.length;
    texts.push({ name: shownName(name), text: decoded(bytes) });
  }
  return texts;
}

/** Decodes UTF-8, or UTF-16 with a byte order mark, which spreadsheets and some key makers write. */
function decoded(bytes: Buffer): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** Returns the name of an input for messages and reports. */
const shownName = (name: string): string => (name === "-" ? "standard input" : name);

/** Returns the text of a file with a secret, or that of the environment; undefined if neither is given. */
const secretText = async (file: string | undefined, environment: string | undefined): Promise<string | undefined> =>
  file === undefined ? environment || undefined : (await readInput(file, 64 * 1024)).toString();

/** Returns the bearer token. Throws if there is none. */
export async function readToken(file: string | undefined, environment: string | undefined): Promise<string> {
  const token = (await secretText(file, environment))?.trim() ?? "";
  if (token !== "") return token;
  throw new Error(
    file === undefined
      ? "API_TOKEN is not set. Set it to the bearer token of an administrator, or use --token-file."
      : `${shownName(file)} contains no token.`,
  );
}

/** Returns the pre-shared key of a PSKC file, if one is given. Throws if it is malformed. */
export async function readPreSharedKey(
  file: string | undefined,
  environment: string | undefined,
): Promise<Uint8Array | undefined> {
  const compact = (await secretText(file, environment))?.replace(/\s+/g, "");
  if (compact === undefined) return undefined;
  const isHex = /^[0-9a-f]+$/i.test(compact);
  const isText = isHex ? compact.length % 2 === 0 : /^[A-Za-z0-9+/]+={0,2}$/.test(compact);
  const bytes = Buffer.from(isText ? compact : "", isHex ? "hex" : "base64");
  if ([16, 24, 32].includes(bytes.length)) return new Uint8Array(bytes);
  const source = file === undefined ? "PSKC_KEY" : shownName(file);
  throw new Error(`${source} contains no key of 16, 24 or 32 bytes in hex or base64.`);
}

/** Returns the passphrase of a PSKC file, if one is given: of a file, all but the line end. Throws if the file contains none. */
export async function readPassphrase(
  file: string | undefined,
  environment: string | undefined,
): Promise<string | undefined> {
  const text = await secretText(file, environment);
  const passphrase = file === undefined ? text : text?.replace(/\r?\n$/, "");
  if (passphrase !== "") return passphrase;
  throw new Error(`${shownName(String(file))} contains no passphrase.`);
}
