import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";

/** A hundred thousand keys and more; what is read is held in memory, because the last line of a log may take back the first. */
const mostBytes = 32 * 1024 * 1024;

/** Reads a file, a pipe, or standard input for `-`. Throws what is wrong with it, and quotes nothing. */
async function readInput(name: string, most = mostBytes): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  const source: Readable = name === "-" ? process.stdin : createReadStream(name);
  try {
    for await (const chunk of source) {
      length += (chunk as Buffer).length;
      if (length > most) break;
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${shownName(name)} can not be read${code === undefined ? "" : ` (${code})`}.`);
  }
  if (length <= most) return Buffer.concat(chunks);
  throw new Error(`${shownName(name)} has more than ${Math.round(most / 1024)} KiB: split it.`);
}

/** Reads key files as text, one after another. Together they may have no more than one may have. Throws. */
export async function readTexts(names: readonly string[]): Promise<readonly { name: string; text: string }[]> {
  const texts: { name: string; text: string }[] = [];
  let left = mostBytes;
  for (const name of names) {
    const bytes = await readInput(name, left);
    left -= bytes.length;
    texts.push({ name: shownName(name), text: decoded(bytes) });
  }
  return texts;
}

/** Spreadsheets and some makers write UTF-16, by its mark. */
function decoded(bytes: Buffer): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** As people and reports are told it. */
const shownName = (name: string): string => (name === "-" ? "standard input" : name);

/** The bearer token. Throws. */
export async function readToken(file: string | undefined, environment: string | undefined): Promise<string> {
  const token = (file === undefined ? (environment ?? "") : (await readInput(file, 64 * 1024)).toString()).trim();
  if (token !== "") return token;
  throw new Error(
    file === undefined
      ? "API_TOKEN is not set: it holds the bearer token of an administrator. --token-file takes it from a file."
      : `${shownName(file)} holds no token.`,
  );
}

/** The pre-shared key of a PSKC, where one is given. Throws. */
export async function readPreSharedKey(
  file: string | undefined,
  environment: string | undefined,
): Promise<Uint8Array | undefined> {
  const text = file === undefined ? environment : (await readInput(file, 64 * 1024)).toString();
  if (text === undefined || (file === undefined && text === "")) return undefined;
  const compact = text.replace(/\s+/g, "");
  const isHex = /^[0-9a-f]+$/i.test(compact);
  const isText = isHex ? compact.length % 2 === 0 : /^[A-Za-z0-9+/]+={0,2}$/.test(compact);
  const bytes = Buffer.from(isText ? compact : "", isHex ? "hex" : "base64");
  if ([16, 24, 32].includes(bytes.length)) return new Uint8Array(bytes);
  const source = file === undefined ? "PSKC_KEY" : shownName(file);
  throw new Error(`${source} holds no key of 16, 24 or 32 bytes in hex or base64.`);
}
