import type * as z from "zod";
import { openState } from "../state-file.ts";
import {
  changed,
  isPurged,
  markDeleted,
  newVersion,
  type Secret,
  type SecretVersion,
  type secretChange,
} from "./secrets.ts";

/** Returns whether Key Vault accepts a name for a secret. */
export const isSecretName = (name: string): boolean => /^[0-9a-zA-Z-]{1,127}$/.test(name);

type Tags = Readonly<Record<string, string>>;

/** The secrets of a vault. Names are compared without regard to case. */
export interface StoredSecrets {
  names(): readonly string[];
  find(name: string): Secret | undefined;
  /** Returns a deleted secret that can still be recovered. */
  findDeleted(name: string): Secret | undefined;
  add(name: string, version: SecretVersion): SecretVersion;
  change(version: SecretVersion, change: z.output<typeof secretChange>): void;
  remove(name: string): void;
  recover(deleted: Secret): void;
  /** Writes a new version. */
  set(name: string, value: string, tags?: Tags): void;
  /** Returns the value of the latest version. */
  get(name: string): string | undefined;
  /** Returns the values of the enabled versions, the oldest first. */
  enabled(name: string): readonly string[];
  /** Returns the tags of every version, including disabled ones. */
  tags(name: string): readonly Tags[];
}

export function openStoredSecrets(statePath: string | undefined): StoredSecrets {
  const state = openState<Record<string, Secret>>(statePath, {});
  const kept = (name: string): Secret | undefined => {
    const secret = state.value[name.toLowerCase()];
    return secret === undefined || isPurged(secret) ? undefined : secret;
  };
  const find = (name: string): Secret | undefined => {
    const secret = kept(name);
    return secret?.deletedAt === undefined ? secret : undefined;
  };
  const findDeleted = (name: string): Secret | undefined => {
    const secret = kept(name);
    return secret?.deletedAt === undefined ? undefined : secret;
  };

  const versionsOf = (name: string) => find(name)?.versions ?? [];
  const add = (name: string, version: SecretVersion) => {
    const secret = find(name) ?? { name, versions: [] };
    secret.versions.push(version);
    state.value[name.toLowerCase()] = secret;
    state.save();
    return version;
  };
  return {
    names: () => Object.keys(state.value),
    find,
    findDeleted,
    add,
    change(version, change) {
      changed(version, change);
      state.save();
    },
    remove(name) {
      const secret = find(name);
      if (secret !== undefined) markDeleted(secret);
      state.save();
    },
    recover(deleted) {
      deleted.deletedAt = undefined;
      state.save();
    },
    set(name, value, tags) {
      if (!isSecretName(name)) throw new Error(`${name} cannot be the name of a secret`);
      if (findDeleted(name) !== undefined) throw new Error(`${name} is deleted and can be recovered`);
      add(name, newVersion({ value, tags }));
    },
    get: name => versionsOf(name).at(-1)?.value,
    enabled: name => versionsOf(name).flatMap(({ enabled, value }) => (enabled ? [value] : [])),
    tags: name => versionsOf(name).map(({ tags = {} }) => tags),
  };
}
