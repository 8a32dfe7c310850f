import { randomBytes } from "node:crypto";
import * as z from "zod";
import { openState } from "../state-file.ts";

/** Times are in whole seconds since 1970, as on the wire. */
export interface SecretVersion {
  readonly version: string;
  readonly value: string;
  readonly created: number;
  updated: number;
  enabled: boolean;
  exp?: number | undefined;
  tags?: Tags | undefined;
}

type Tags = Readonly<Record<string, string>>;

export const secretChange = z.object({
  attributes: z.object({ enabled: z.boolean().optional(), exp: z.int().nullish() }).optional(),
  tags: z
    .record(z.string().max(256), z.string().max(256))
    .refine(tags => Object.keys(tags).length <= 15, "has more than 15 tags")
    .nullish(),
});

/** The real service also refuses a value of more than 25 KB. */
export const newSecret = secretChange.extend({
  value: z.string().refine(value => Buffer.byteLength(value) <= 25_600, "is longer than 25600 bytes"),
});

/** Returns whether Key Vault accepts a name for a secret. */
export const isSecretName = (name: string): boolean => /^[0-9a-zA-Z-]{1,127}$/.test(name);

const now = () => Math.floor(Date.now() / 1000);

/** Opens the secrets of a vault. Names are compared without regard to case. */
export function openStoredSecrets(statePath: string | undefined) {
  /** The versions of each secret, oldest first. */
  const state = openState<Record<string, SecretVersion[]>>(statePath, {});
  const versionsOf = (name: string): readonly SecretVersion[] => state.value[name.toLowerCase()] ?? [];

  /** Changes a version in place. Members of `change` that are absent or null stay unchanged. */
  const change = (
    secret: SecretVersion,
    { attributes: { enabled, exp } = {}, tags }: z.output<typeof secretChange>,
  ) => {
    const given = Object.entries({ enabled, exp, tags }).filter(([, value]) => value != null);
    Object.assign(secret, Object.fromEntries(given), { updated: now() });
    state.save();
  };
  const add = (name: string, { value, ...more }: z.output<typeof newSecret>): SecretVersion => {
    const version = randomBytes(16).toString("hex");
    const added = { version, value, created: now(), updated: now(), enabled: true };
    state.value[name.toLowerCase()] = [...versionsOf(name), added];
    change(added, more);
    return added;
  };
  return {
    versionsOf,
    change,
    add,
    /** Writes a new version. */
    set: (name: string, value: string, tags?: Tags) => {
      if (!isSecretName(name)) throw new Error(`${name} cannot be the name of a secret`);
      add(name, { value, tags });
    },
    /** Returns the value of the latest version. */
    get: (name: string) => versionsOf(name).at(-1)?.value,
    /** Returns the values of the enabled versions, the oldest first. */
    enabled: (name: string) => versionsOf(name).flatMap(({ enabled, value }) => (enabled ? [value] : [])),
    /** Returns the tags of every version, including disabled ones. */
    tags: (name: string) => versionsOf(name).map(({ tags = {} }) => tags),
  };
}
