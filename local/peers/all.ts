import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { stringify } from "yaml";
import { maxSinks, sinkSecretName } from "../../lib/connector/event-settings.ts";
import { startAic } from "./aic/aic.ts";
import { startDelivery } from "./delivery/delivery.ts";
import { startEnrollment } from "./enrollment/enrollment.ts";
import { startRfpr } from "./enrollment/rfpr.ts";
import { startEntra } from "./entra/entra.ts";
import { startTokenIssuer } from "./issuer/token-issuer.ts";
import { startMail } from "./mail/mail.ts";
import type { PeerName } from "./peer-names.ts";
import { startPingOne } from "./pingone/pingone.ts";
import { startSink } from "./sink/sink.ts";
import { startVault } from "./vault/vault.ts";

/** Every simulated peer of one system. */
export type Peers = Awaited<ReturnType<typeof startPeers>>;

/** Audience of tenant tokens for this system. */
export const audience = "api://local";
const clientId = "5f0c7c56-6f1e-4c3c-9f51-2f8f2f3f9a10";
const environmentId = "0b6e1c1e-52a0-4e0c-8f0d-6a4f3f1c2d55";
const pingOnePolicy = "4f1d2c3b-9a8e-4d7c-b6a5-e4d3c2b1a099";
/** Realm, journey and relying party of the simulated tenant of Advanced Identity Cloud. */
const aicTenant = {
  realm: "alpha",
  journey: "RegisterKey",
  relyingPartyId: "aic.example.com",
  // The journey of a shipped key must last until the key arrives.
  journeySeconds: 14 * 86_400,
};

/**
 * Starts every peer.
 * @param directory where the peers keep their state; in memory if absent
 * @param ports ports by name of the peer; a free one where absent or 0
 */
export async function startPeers(directory?: string, ports: Readonly<Partial<Record<PeerName, number>>> = {}) {
  const place = (name: PeerName) => ({
    port: ports[name] ?? 0,
    ...(directory !== undefined && { statePath: join(directory, `${name}.json`) }),
  });
  const vault = await startVault(place("vault"));
  const secret = (name: string, encoding: BufferEncoding = "base64url"): string => {
    if (vault.get(name) === undefined) vault.set(name, randomBytes(32).toString(encoding));
    return vault.get(name) ?? "";
  };
  secret("data-encryption-key");
  secret("password-pepper");
  const issuer = await startTokenIssuer(place("issuer"));
  const delivery = await startDelivery({ ...place("delivery"), token: secret("delivery-api-token") });
  const enrollment = await startEnrollment({ ...place("enrollment"), credential: secret("enrollment-credential") });
  const rfpr = await startRfpr({ ...place("rfpr"), isValid: enrollment.isValid, maker: delivery.maker });
  const { attestationRoot } = delivery;
  const client = (idp: string) => ({ clientId, clientSecret: secret(`idp-${idp}-client-secret`), attestationRoot });
  const entra = await startEntra({ ...place("entra"), ...client("entra"), tenantId: issuer.tenantId });
  const pingone = await startPingOne({ ...place("pingone"), ...client("pingone"), environmentId });
  const aic = await startAic({ ...place("aic"), ...client("aic"), ...aicTenant });
  // Kept like a secret, so that the settings of a host stay the same at every start.
  const mail = await startMail({ ...place("mail"), accessKey: secret("local-mail-access-key", "base64") });
  const signingSecrets = () =>
    Array.from({ length: maxSinks }, (_, index) => vault.enabled(sinkSecretName(index + 1))).flat();
  const sink = await startSink({ ...place("sink"), secrets: signingSecrets });
  return { vault, issuer, delivery, enrollment, rfpr, entra, pingone, aic, mail, sink };
}

export async function closePeers(peers: Peers): Promise<void> {
  await Promise.all(Object.values(peers).map(peer => peer.close()));
}

/** Returns the file that configures an IdP of each kind. */
export const idpFile = ({ issuer, entra, pingone, aic }: Peers): string =>
  stringify({
    entra: {
      type: "entra",
      "tenant-id": issuer.tenantId,
      "client-id": clientId,
      "graph-endpoint": entra.url,
      "online-endpoint": entra.url,
    },
    pingone: {
      type: "pingone",
      "environment-id": environmentId,
      "client-id": clientId,
      "api-base-url": pingone.url,
      "auth-base-url": pingone.url,
      "default-relying-party": "pingone.example.com",
      "pre-registration-timeout-days": 14,
      "policy-id": pingOnePolicy,
    },
    aic: {
      type: "aic",
      "api-base-url": aic.url,
      "auth-base-url": aic.url,
      realm: aicTenant.realm,
      journey: aicTenant.journey,
      "client-id": clientId,
      scope: "fido",
      "default-relying-party": aicTenant.relyingPartyId,
    },
  });

/** Returns the settings that make a host use these peers, with one IdP. */
export function peerSettings(peers: Peers): Record<string, string> {
  const { vault, issuer, delivery, enrollment, rfpr, entra, pingone, aic, mail } = peers;
  return {
    CLOUD_TENANT_ID: issuer.tenantId,
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    CALLER_AUDIENCES: audience,
    CALLER_ISSUERS: issuer.issuer,
    CALLER_JWKS_ENDPOINT: issuer.jwksUri,
    CALLER_STATIC_TOKENS: "true",
    SESSION_COOKIE_SECURE: "false",
    EMAIL_API_SEND_ENDPOINT: mail.url,
    EMAIL_CONNECTION_STRING: mail.connectionString,
    EMAIL_SENDER_ADDRESS: "keys@example.com",
    PIN_MAIL_ORGANIZATION: "Example Corp",
    PIN_MAIL_SUPPORT_CONTACT: "support@example.com",
    PIN_MAIL_SIGN_IN_URL: "https://sign-in.example.com",
    DELIVERY_API_BASE_URL: delivery.url,
    DELIVERY_JWKS_SIGN_ENDPOINT: delivery.signJwksUrl,
    DELIVERY_JWKS_TRANSPORT_ENDPOINT: delivery.transportJwksUrl,
    ENROLLMENT_SERVICE_API_BASE_URL: enrollment.url,
    RFPR_API_BASE_URL: rfpr.url,
    IDP_DEFAULT: "entra",
    IDP_SECRET_HOSTS: [entra, pingone, aic].map(({ url }) => new URL(url).host).join(","),
    IDPA_FIDO_API_CLIENT_ID: clientId,
    IDPA_GRAPH_ENDPOINT: entra.url,
    IDPA_ONLINE_ENDPOINT: entra.url,
  };
}
