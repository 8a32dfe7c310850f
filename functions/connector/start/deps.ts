import { claimStore } from "../../../lib/azure/connector/idempotency.ts";
import { responseBlobs } from "../../../lib/azure/connector/responses.ts";
import { connectorStore } from "../../../lib/azure/connector/store.ts";
import { accessToken } from "../../../lib/azure/credential.ts";
import { openMailer } from "../../../lib/azure/mail/mailer.ts";
import type { PeerTools } from "../../../lib/connector/http/call.ts";
import { type ConfiguredIdps, configuredIdps } from "../../../lib/connector/idp/configured-idps.ts";
import { connectIdp, idpSecretName } from "../../../lib/connector/idp/kinds.ts";
import { fetchFromSecretHosts } from "../../../lib/connector/idp/secret-hosts.ts";
import { intervalsOf } from "../../../lib/connector/intervals.ts";
import { connectDelivery } from "../../../lib/connector/peers/delivery.ts";
import { connectEnrollment } from "../../../lib/connector/peers/enrollment.ts";
import { connectRfpr, type Rfpr } from "../../../lib/connector/peers/rfpr.ts";
import { traceMails } from "../../../lib/connector/pin/trace-mails.ts";
import { type ConnectorSettings, connectorSettings } from "../../../lib/connector/settings.ts";
import { logStates } from "../../../lib/connector/store/log-states.ts";
import { deploymentSettings } from "../../../lib/deployment-settings.ts";
import { type Environment, effectiveSettings } from "../../../lib/settings.ts";
import { seconds } from "../../../lib/time.ts";
import type { Deployment } from "../../deployment.ts";
import type { ConnectorContext } from "../context.ts";
import { idpFileReader } from "./idp-file.ts";
import type { IdpPlan } from "./idp-settings.ts";

/** Connects the connector to storage, vault and peers. Nothing is called yet. */
export function openConnector(
  deployment: Deployment,
  settings: ConnectorSettings,
  idpPlan: IdpPlan,
  environment: Environment,
): ConnectorContext {
  const { log, now, random, sleep, fetch } = deployment;
  const { PUBLIC_BASE_URL, CONNECTOR_PATH } = deployment.settings;
  const tools = { fetch, now, random, sleep };
  const timing = intervalsOf(settings);
  const idps = openIdps(deployment, settings, idpPlan, { ...tools, timeLimitMs: timing.idpCall });
  const rfpr = openRfpr(settings, deployment, { ...tools, timeLimitMs: timing.enrollmentCall });
  return {
    requests: logStates(
      connectorStore(deployment.tables, { shipmentsTable: settings.CLOUD_TABLES_SHIPMENTS_TABLE_NAME, now, log }),
      log,
    ),
    responses: responseBlobs(deployment.blobs),
    claims: claimStore(deployment.tables),
    sealer: deployment.sealer,
    mailer: traceMails(
      openMailer({
        ...(settings.EMAIL_CONNECTION_STRING === undefined
          ? { endpoint: settings.EMAIL_API_SEND_ENDPOINT, credential: deployment.identity }
          : { connectionString: settings.EMAIL_CONNECTION_STRING }),
        sender: settings.EMAIL_SENDER_ADDRESS,
        timeoutMs: timing.mailCall,
        now,
      }),
    ),
    delivery: connectDelivery({
      ...tools,
      baseUrl: settings.DELIVERY_API_BASE_URL,
      signJwksUrl: settings.DELIVERY_JWKS_SIGN_ENDPOINT,
      transportJwksUrl: settings.DELIVERY_JWKS_TRANSPORT_ENDPOINT,
      token: deployment.secretText("delivery-api-token"),
      timeLimitMs: timing.deliveryCall,
    }),
    ...(rfpr && { rfpr }),
    idps,
    idpSettings: idps.settings,
    ready: idps.ready,
    pinMailDomains: settings.PIN_MAIL_DOMAINS.map(domain => domain.toLowerCase()),
    intervals: timing,
    resendsPerHour: settings.RESEND_PIN_PER_HOUR,
    concurrency: settings.JOB_CONCURRENCY,
    log,
    now,
    random,
    sleep,
    settingWords: {
      ...effectiveSettings(deploymentSettings, environment),
      ...effectiveSettings(connectorSettings, environment),
    },
    cleanUpCompletedDays: settings.CRON_DATA_CLEANUP_COMPLETED_DAYS,
    connectorUrl: call => [PUBLIC_BASE_URL ?? call.origin, CONNECTOR_PATH].filter(part => part !== "").join("/"),
  };
}

/** The IdPs, by the environment or by a file that is read again (decision C13). */
function openIdps(
  { secretText, identity, blobs, now, log, settings: { STORAGE_TIMEOUT_SECONDS } }: Deployment,
  settings: ConnectorSettings,
  { known, place, secretHosts }: IdpPlan,
  tools: PeerTools & { readonly timeLimitMs: number },
): ConfiguredIdps {
  return configuredIdps({
    defaultId: settings.IDP_DEFAULT,
    secretHosts,
    known,
    file: place && {
      read: idpFileReader(place, { blobs, timeoutMs: seconds(STORAGE_TIMEOUT_SECONDS) }),
      maxAgeMs: seconds(settings.IDP_CONFIGURATION_MAX_AGE_SECONDS),
      retryAfterMs: seconds(settings.IDP_CONFIGURATION_RETRY_SECONDS),
    },
    connect: (id, ofIdp) => {
      const byIdentity = ofIdp.type === "entra" && ofIdp["managed-identity"] === true;
      return connectIdp(id, ofIdp, {
        ...tools,
        fetch: fetchFromSecretHosts(tools.fetch, secretHosts),
        secret: secretText(idpSecretName(id)),
        ...(byIdentity && { managedIdentityToken: scope => accessToken(identity, scope) }),
      });
    },
    now,
    log,
  });
}

/** Returns the client of the pre-registration API, if the settings name it (C12). */
function openRfpr(
  { RFPR_API_BASE_URL, ENROLLMENT_SERVICE_API_BASE_URL }: ConnectorSettings,
  { secretText }: Deployment,
  tools: PeerTools & { readonly timeLimitMs: number },
): Rfpr | undefined {
  if (RFPR_API_BASE_URL === undefined || ENROLLMENT_SERVICE_API_BASE_URL === undefined) return undefined;
  const credential = secretText("enrollment-credential");
  const tokens = connectEnrollment({ ...tools, baseUrl: ENROLLMENT_SERVICE_API_BASE_URL, credential });
  return connectRfpr({ ...tools, baseUrl: RFPR_API_BASE_URL, tokens });
}
