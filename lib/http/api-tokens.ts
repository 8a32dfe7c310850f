import * as z from "zod";
import { Fault } from "../fault.ts";
import type { Now } from "../time.ts";
import { hashOfToken, type TokenHash, tokenHash } from "./bearer.ts";

/** Where the hashes of a surface's static tokens lie: one secret of the vault (decision G3). */
export interface TokenHashes {
  /** What is in force now. `refresh` asks for a new read, which may be limited in number. */
  known(refresh: boolean): Promise<readonly TokenHash[]>;
  /** As it stands in the vault at this moment. */
  read(): Promise<readonly TokenHash[]>;
  write(hashes: readonly TokenHash[]): Promise<void>;
}

/** The hashes as the secret's text has them; none where there is no secret. */
export const hashesOf = (text: string | undefined): readonly TokenHash[] =>
  text === undefined ? [] : z.array(tokenHash).parse(JSON.parse(text));

/** The most tokens that one surface may have, so that the secret stays within the vault's limit. */
const mostTokens = 100;

/**
 * Makes a static token. The vault keeps its hash alone: the token is shown now and never again.
 * Throws Fault `conflict` where there are too many.
 */
export async function createToken(
  name: string,
  surface: "core" | "connector",
  { hashes, now, random }: { hashes: TokenHashes; now: Now; random: (bytes: number) => Uint8Array },
): Promise<{ readonly token: string; readonly hash: TokenHash }> {
  const id = Buffer.from(random(4)).toString("hex");
  const token = `${surface}_${id}_${Buffer.from(random(32)).toString("base64url")}`;
  const hash = { id, name, sha256: hashOfToken(token), createdAt: now() };
  const there = await hashes.read();
  if (there.length >= mostTokens) throw new Fault("conflict", `There are ${mostTokens} API tokens already.`);
  await change(
    hashes,
    all => [...all, hash],
    all => all.some(each => each.id === id),
  );
  return { token, hash };
}

/** Revokes a token: it is refused as soon as the hosts have read the vault again. Throws Fault `not_found`. */
export async function revokeToken(id: string, hashes: TokenHashes): Promise<void> {
  const there = await hashes.read();
  if (!there.some(each => each.id === id)) throw new Fault("not_found", "There is no such API token.");
  await change(
    hashes,
    all => all.filter(each => each.id !== id),
    all => all.every(each => each.id !== id),
  );
}

/** The vault knows no condition on a write, so it is read again: who wrote at the same time must not have undone this. */
async function change(
  hashes: TokenHashes,
  next: (all: readonly TokenHash[]) => readonly TokenHash[],
  isDone: (all: readonly TokenHash[]) => boolean,
): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const all = await hashes.read();
    if (isDone(all)) return;
    await hashes.write(next(all));
  }
  if (!isDone(await hashes.read()))
    throw new Fault("unavailable", "The API tokens are being changed by others.", { retryAfter: 1 });
}
