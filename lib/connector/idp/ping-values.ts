import * as z from "zod";
import type { CreationOptions } from "../model/webauthn.ts";
import { optionMembers } from "./option-members.ts";

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** A binary value of Ping's products: a list of signed bytes, or base64 in either alphabet. Parsed to base64url. */
export const binary = z.lazy(() =>
  z.union([
    z
      .array(z.int().min(-128).max(255))
      .min(1)
      .transform(bytes => Buffer.from(Uint8Array.from(bytes)).toString("base64url")),
    z
      .string()
      .regex(base64)
      .transform(text => Buffer.from(text, "base64").toString("base64url")),
  ]),
);

const wholeText = z
  .string()
  .regex(/^-?\d{1,15}$/)
  .transform(Number);

/** A whole number, also as text. */
const whole = z.union([z.int(), wholeText]);

const parameter = z.object({ type: z.literal("public-key"), alg: whole });
const excluded = z.object({ id: binary });

/** The members of creation options that PingOne and Advanced Identity Cloud have in common. */
export const commonOptions = {
  challenge: binary,
  pubKeyCredParams: z.array(parameter).min(1),
  timeout: whole.nullish().catch(undefined),
  excludeCredentials: z.array(excluded).nullish(),
  authenticatorSelection: optionMembers.nullish(),
  attestation: z.string().nullish(),
  extensions: optionMembers.nullish(),
};

interface ParsedOptions extends z.output<z.ZodObject<typeof commonOptions>> {
  readonly rp: { readonly id: string; readonly name?: string | null | undefined };
  /** `id` in base64url. */
  readonly user: { readonly id: string; readonly name: string; readonly displayName?: string | null | undefined };
}

/** Returns creation options of the contract, without absent members. */
export function toCreationOptions(parsed: ParsedOptions): CreationOptions {
  const { rp, user, challenge, pubKeyCredParams, timeout, excludeCredentials } = parsed;
  const { authenticatorSelection, attestation, extensions } = parsed;
  return {
    rp: { id: rp.id, name: rp.name || rp.id },
    user: { id: user.id, name: user.name, displayName: user.displayName ?? user.name },
    challenge,
    pubKeyCredParams,
    ...(typeof timeout === "number" && { timeout }),
    ...(excludeCredentials && {
      excludeCredentials: excludeCredentials.map(({ id }) => ({ type: "public-key" as const, id })),
    }),
    ...(authenticatorSelection && { authenticatorSelection }),
    ...(typeof attestation === "string" && { attestation }),
    ...(extensions && { extensions }),
  };
}
