/** Where a sealed value of a key belongs (decision G8). */
export const sealPlace = (requestId: string, keyId: string, purpose: string) => ({
  table: "credentialrequests",
  row: `${requestId}/key:${keyId}`,
  purpose,
});

export const credentialKeyPurpose = (index: number): string => `response-key-${index}`;
export const pinKeyPurpose = "pin-key";
export const handlePurpose = (index: number): string => `idp-handle-${index}`;
