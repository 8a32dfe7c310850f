import { claimStore } from "../../../lib/azure/connector/idempotency.ts";
import { responseBlobs } from "../../../lib/azure/connector/responses.ts";
import { connectorStore } from "../../../lib/azure/connector/store.ts";
import { openMailer } from "../../../lib/azure/mail/mailer.ts";
import { accessToken } from "../../../lib/azure/service-access.ts";
import { signingSecrets } from "../../../lib/azure/vault/signing-secrets.ts";
import { shippedChallengeMs } from "../../../lib/connector/create/check-challenge.ts";
import type { PeerTools } from "../../../lib/connector/http/call.ts";
import { firstLimit, peerPaces } from "../../../lib/connector/http/pace.ts";
import { type ConfiguredIdps, configuredIdps } from "../../../lib/connector/idp/configured-idps.ts";
import { idpSecretName } from "../../../lib/connector/idp/idp-id.ts";
import type { IdpDeps } from "../../../lib/connector/idp/kind.ts";
import { kindOf } from "../../../lib/connector/idp/kinds.ts";
import { fetchFromSecretHosts } from "../../../lib/connector/idp/secret-hosts.ts";
import { connectDelivery } from "../../../lib/connector/peers/delivery.ts";
import { connectEnrollment } from "../../../lib/connector/peers/enrollment.ts";
import { connectEventSink, type EventSink } from "../../../lib/connector/peers/event-sink.ts";
import { connectRfpr, type Rfpr } from "../../../lib/connector/peers/rfpr.ts";
import { type ConnectorSettings, noSink, sinkSecretName } from "../../../lib/connector/settings.ts";
import { logStates } from "../../../lib/connector/store/log-states.ts";
import { toIntervals } from "../../../lib/connector/to-intervals.ts";
import { sendEventsAfterJob } from "../../../lib/connector/webhooks/send-events.ts";
import type { Mailer } from "../../../lib/peers/mail.ts";
import { seconds } from "../../../lib/time.ts";
import type { Deployment } from "../../deployment.ts";
import { apiUrl } from "../../service.ts";
import type { ConnectorContext } from "../context.ts";
import { idpFileReader } from "./idp-file.ts";
import { postToPublicAddresses } from "./post-event.ts";
import type { ConnectorStart } from "./read-connector-settings.ts";
import type { IdpSettingsAtStart } from "./read-idp-settings.ts";

/** Creates the clients of storage, Key Vault and peers, without any call. */
export function openConnectorContext(
  deployment: Deployment,
  { settings, settingTexts, idps: source }: ConnectorStart,
): ConnectorContext {
  const { log, now, random, sleep } = deployment;
  const idps = openIdps(deployment, settings, source);
  const rfpr = openRfpr(deployment, settings);
  const shipmentsTable = settings.CLOUD_TABLES_SHIPMENTS_TABLE_NAME;
  const sinks = openSinks(deployment, settings);
  const numbers = sinks.map(({ number }) => number);
  const { requests, events } = connectorStore(deployment.tables, { shipmentsTable, sinks: numbers, now, log });
  const intervals = toIntervals(settings);
  return {
    requests: logStates(requests, log),
    events,
    sinks,
    sendEventsAfterJob: () => sendEventsAfterJob({ events, sinks, intervals, now, random, log }),
    responses: responseBlobs(deployment.blobs),
    claims: claimStore(deployment.tables),
    sealer: deployment.sealer,
    mailer: openMail(deployment, settings),
    delivery: connectDelivery({
      ...peerTools(deployment),
      baseUrl: settings.DELIVERY_API_BASE_URL,
      signJwksUrl: settings.DELIVERY_JWKS_SIGN_ENDPOINT,
      transportJwksUrl: settings.DELIVERY_JWKS_TRANSPORT_ENDPOINT,
      token: deployment.secretText("delivery-api-token"),
      timeLimitMs: seconds(settings.DELIVERY_TIMEOUT_SECONDS),
    }),
    ...(rfpr && { rfpr }),
    idps,
    idpSettings: idps.settings,
    ready: idps.ready,
    pinMailDomains: settings.PIN_MAIL_DOMAINS.map(domain => domain.toLowerCase()),
    pinMailSender: {
      language: settings.PIN_MAIL_LANGUAGE,
      organization: settings.PIN_MAIL_ORGANIZATION ?? "",
      supportContact: settings.PIN_MAIL_SUPPORT_CONTACT ?? "",
      signInUrl: settings.PIN_MAIL_SIGN_IN_URL ?? "",
    },
    intervals,
    resendsPerHour: settings.RESEND_PIN_PER_HOUR,
    concurrency: Math.min(firstLimit, settings.JOB_CONCURRENCY),
    paces: peerPaces(settings.JOB_CONCURRENCY, now),
    log,
    now,
    random,
    sleep,
    settingTexts,
    cleanUpCompletedDays: settings.CRON_DATA_CLEANUP_COMPLETED_DAYS,
    connectorUrl: apiUrl(deployment.settings, deployment.settings.CONNECTOR_PATH),
  };
}

const peerTools = ({ fetch, now, random, sleep }: Deployment): PeerTools => ({ fetch, now, random, sleep });

function openMail({ identity, now }: Deployment, settings: ConnectorSettings): Mailer {
  return openMailer({
    ...(settings.EMAIL_CONNECTION_STRING === undefined
      ? { endpoint: settings.EMAIL_API_SEND_ENDPOINT, credential: identity }
      : { connectionString: settings.EMAIL_CONNECTION_STRING }),
    sender: settings.EMAIL_SENDER_ADDRESS,
    timeoutMs: seconds(settings.MAIL_TIMEOUT_SECONDS),
    now,
  });
}

/** Creates the clients of the event sinks. The position of an address in the setting is the number of its sink. */
function openSinks({ secrets, caching, now }: Deployment, settings: ConnectorSettings): readonly EventSink[] {
  const post = postToPublicAddresses(settings.EVENT_SINK_ALLOW_PRIVATE);
  const timeLimitMs = seconds(settings.EVENT_TIMEOUT_SECONDS);
  return settings.EVENT_SINK_URLS.flatMap((url, index) => {
    const number = index + 1;
    if (url === noSink) return [];
    const values = signingSecrets(secrets, sinkSecretName(number), caching);
    return [connectEventSink({ number, url, secrets: values, post, timeLimitMs, now })];
  });
}

/** Creates the clients of the IdPs. If a file configures them, it is read again while the app runs (C13). */
function openIdps(
  deployment: Deployment,
  settings: ConnectorSettings,
  { known, file, secretHosts }: IdpSettingsAtStart,
): ConfiguredIdps {
  const { secretText, identity, blobs, now, log } = deployment;
  const tools: Omit<IdpDeps, "secret"> = {
    ...peerTools(deployment),
    fetch: fetchFromSecretHosts(deployment.fetch, secretHosts),
    managedIdentityToken: scope => accessToken(identity, scope),
    timeLimitMs: seconds(settings.IDP_TIMEOUT_SECONDS),
  };
  const timeoutMs = seconds(deployment.settings.STORAGE_TIMEOUT_SECONDS);
  return configuredIdps({
    defaultId: settings.IDP_DEFAULT,
    secretHosts,
    known,
    file: file && {
      read: idpFileReader(file, { blobs, timeoutMs }),
      maxAgeMs: seconds(settings.IDP_CONFIGURATION_MAX_AGE_SECONDS),
      retryAfterMs: seconds(settings.IDP_CONFIGURATION_RETRY_SECONDS),
    },
    shippedChallengeMs: shippedChallengeMs(toIntervals(settings)),
    connect: (id, idp) => kindOf(idp).connect(id, idp, { ...tools, secret: secretText(idpSecretName(id)) }),
    now,
    log,
  });
}

/** Creates the client of the pre-registration API, if the deployment has on-site enrollment. */
function openRfpr(
  deployment: Deployment,
  {
    RFPR_API_BASE_URL: baseUrl,
    ENROLLMENT_SERVICE_API_BASE_URL: tokenBaseUrl,
    ENROLLMENT_TIMEOUT_SECONDS,
  }: ConnectorSettings,
): Rfpr | undefined {
  if (baseUrl === undefined || tokenBaseUrl === undefined) return undefined;
  const tools = { ...peerTools(deployment), timeLimitMs: seconds(ENROLLMENT_TIMEOUT_SECONDS) };
  const credential = deployment.secretText("enrollment-credential");
  const tokens = connectEnrollment({ ...tools, baseUrl: tokenBaseUrl, credential });
  return connectRfpr({ ...tools, baseUrl, tokens });
}
