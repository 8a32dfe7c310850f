/** Returns the additional authenticated data that binds a sealed value to its row and purpose. */
export const sealContext = (requestId: string, keyId: string, purpose: string) => ({
  table: "credentialrequests",
  row: `${requestId}/key:${keyId}`,
  purpose,
});

export const responseKeyPurpose = (index: number): string => `response-key-${index}`;
export const pinKeyPurpose = "pin-key";
export const idpStatePurpose = (index: number): string => `idp-state-${index}`;
