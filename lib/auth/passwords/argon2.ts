/** The package exports this number only as a const enum, which does not exist at run time. */
export const argon2id = 2;

let loaded: Promise<typeof import("@node-rs/argon2")> | undefined;

/** Loads the package at the first use: if the platform's binary is missing, only password checks fail. */
export function argon2(): Promise<typeof import("@node-rs/argon2")> {
  loaded ??= import("@node-rs/argon2");
  return loaded;
}
