/** Names of the simulated peers, in the order of their ports. */
export const peerNames = [
  "vault",
  "issuer",
  "delivery",
  "enrollment",
  "rfpr",
  "entra",
  "pingone",
  "aic",
  "mail",
  "sink",
] as const;

export type PeerName = (typeof peerNames)[number];
