import { randomBytes } from "node:crypto";
import * as z from "zod";

/** Times are in whole seconds since 1970, as on the wire. */
export interface SecretVersion {
  readonly version: string;
  readonly value: string;
  readonly created: number;
  updated: number;
  enabled: boolean;
  nbf?: number | undefined;
  exp?: number | undefined;
  contentType?: string | undefined;
  tags?: Record<string, string> | undefined;
}

export interface Secret {
  /** In its first spelling; names are compared without regard to case. */
  readonly name: string;
  /** Oldest first. */
  readonly versions: SecretVersion[];
  /** Time of the deletion. Until the retention ends the secret can be recovered and its name cannot be used again. */
  deletedAt?: number | undefined;
}

/** Soft delete with purge protection, as `infra/modules/vault.bicep` configures it. */
const retentionDays = 90;

const attributes = z.object({
  enabled: z.boolean().optional(),
  nbf: z.int().nullish(),
  exp: z.int().nullish(),
});

export const secretChange = z.object({
  attributes: attributes.optional(),
  contentType: z.string().nullish(),
  tags: z
    .record(z.string().max(256), z.string().max(256))
    .refine(tags => Object.keys(tags).length <= 15, "has more than 15 tags")
    .nullish(),
});

/** The real service also refuses a value of more than 25 KB. */
export const newSecret = secretChange.extend({
  value: z.string().refine(value => Buffer.byteLength(value) <= 25_600, "is longer than 25600 bytes"),
});

const now = () => Math.floor(Date.now() / 1000);

export function newVersion({ value, ...change }: z.output<typeof newSecret>): SecretVersion {
  const version = randomBytes(16).toString("hex");
  const created = now();
  return changed({ version, value, created, updated: created, enabled: true }, change);
}

/** Changes `secret` in place. Members of `change` that are absent or null stay unchanged. */
export function changed(secret: SecretVersion, change: z.output<typeof secretChange>): SecretVersion {
  const { attributes: { enabled, nbf, exp } = {}, contentType, tags } = change;
  const given = Object.entries({ enabled, nbf, exp, contentType, tags }).filter(([, value]) => value != null);
  return Object.assign(secret, Object.fromEntries(given), { updated: now() });
}

/** Returns a secret as in lists, without its value. @param id address of the secret or of its version */
export const listed = (id: string, { created, updated, enabled, nbf, exp, contentType, tags }: SecretVersion) => ({
  id,
  attributes: { enabled, nbf, exp, created, updated, recoveryLevel: "Recoverable", recoverableDays: retentionDays },
  contentType,
  tags,
});

/** Returns the further members of a deleted secret. `recoveryId` is its address among the deleted secrets. */
export const deletion = (recoveryId: string, deletedAt: number) => ({
  recoveryId,
  deletedDate: deletedAt,
  scheduledPurgeDate: deletedAt + retentionDays * 86_400,
});

/** Returns whether the retention of a deleted secret has ended. */
export const isPurged = ({ deletedAt }: Secret): boolean =>
  deletedAt !== undefined && now() >= deletedAt + retentionDays * 86_400;

export const markDeleted = (secret: Secret): number => {
  const deletedAt = now();
  secret.deletedAt = deletedAt;
  return deletedAt;
};
