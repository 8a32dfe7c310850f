import * as z from "zod";

/** The id of an IdP, part of a secret's name in Key Vault: at most 127 letters, digits and hyphens. */
export const idpId = z.string().regex(/^[A-Za-z0-9-]{1,109}$/, {
  error: "must have 1 to 109 letters, digits and hyphens: it is part of a secret's name",
});

/** Returns the name of an IdP's secret in Key Vault. */
export const idpSecretName = (id: string): string => `idp-${id}-client-secret`;
