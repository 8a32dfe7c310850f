import { responseBlobs } from "../../../lib/connector/collect/responses.blob.ts";
import { claimStore } from "../../../lib/connector/create/claims.table.ts";
import { noSink, sinkSecretName } from "../../../lib/connector/event-settings.ts";
import { connectEventSink, type EventSink } from "../../../lib/connector/events/event-sink.ts";
import { eventStore } from "../../../lib/connector/events/events.table.ts";
import { sendEventsAfterJob } from "../../../lib/connector/events/send-events.ts";
import { configuredIdps } from "../../../lib/connector/idp/configured-idps.ts";
import { type IdpDeps, idpSecretName } from "../../../lib/connector/idp/kind.ts";
import { kindOf } from "../../../lib/connector/idp/kinds.ts";
import { fetchFromSecretHosts } from "../../../lib/connector/idp/secret-hosts.ts";
import type { Intervals } from "../../../lib/connector/model/intervals.ts";
import { connectDelivery } from "../../../lib/connector/peers/delivery.ts";
import { peerLimits } from "../../../lib/connector/peers/peer-limits.ts";
import { connectEnrollment, connectRfpr, type Rfpr } from "../../../lib/connector/peers/rfpr.ts";
import { type ConnectorSettings, toIntervals } from "../../../lib/connector/settings.ts";
import { requestStore } from "../../../lib/connector/storage/requests.table.ts";
import { signingSecrets } from "../../../lib/platform/azure/cached-secrets.ts";
import { openMailer } from "../../../lib/platform/azure/mailer.ts";
import { accessToken } from "../../../lib/platform/azure/services.ts";
import type { Fetch, PeerTools } from "../../../lib/platform/call-peer.ts";
import type { Mailer } from "../../../lib/platform/mail.ts";
import { minutes, seconds } from "../../../lib/platform/time.ts";
import { type Deployment, deploymentLimits } from "../../deployment.ts";
import { apiUrl } from "../../service.ts";
import type { ConnectorContext } from "../context.ts";
import { idpFileReader } from "./idp-file.ts";
import type { ConnectorStart, IdpSettingsAtStart } from "./read-settings.ts";

/** Ages of the IdP file, in milliseconds, and limits of jobs. `Deployment.limits` replaces them. */
export const connectorLimits = {
  /** A change of the file is in use after this time, without a restart. */
  idpFileMaxAgeMs: minutes(5),
  /** Wait after a failed read. Until the first read, the connector answers 503. */
  idpFileRetryMs: seconds(30),
  /**
   * The number of calls that one peer gets from jobs at once. With fewer, an IdP of 200 ms takes longer than the host's
   * CPU (`bench/queue.ts`).
   */
  callsAtOnce: 24,
};

/** Creates the clients of storage, Key Vault and peers, without any call. */
export function openConnectorContext(
  deployment: Deployment,
  { settings, settingTexts, idps: source }: ConnectorStart,
): ConnectorContext {
  const { log, now, random, sleep } = deployment;
  const intervals = toIntervals(settings, deployment.limits);
  const { callsAtOnce } = { ...connectorLimits, ...deployment.limits };
  const idps = openIdps(deployment, settings, { source, intervals });
  const rfpr = openRfpr(deployment, settings, intervals.enrollmentCallMs);
  const shipmentsTable = settings.CLOUD_TABLES_SHIPMENTS_TABLE_NAME;
  const sinks = openSinks(deployment, settings, intervals.eventCallMs);
  const events = eventStore(deployment.tables, { sinks, now, log });
  return {
    requests: requestStore(deployment.tables, { shipmentsTable, events, now, log }),
    events,
    sinks,
    sendEventsAfterJob: () => sendEventsAfterJob({ events, sinks, intervals, now, random, log }),
    responses: responseBlobs(deployment.blobs),
    claims: claimStore(deployment.tables),
    sealer: deployment.sealer,
    mailer: openMail(deployment, settings, intervals.mailCallMs),
    delivery: connectDelivery({
      ...peerTools(deployment),
      baseUrl: settings.DELIVERY_API_BASE_URL,
      signJwksUrl: settings.DELIVERY_JWKS_SIGN_ENDPOINT,
      transportJwksUrl: settings.DELIVERY_JWKS_TRANSPORT_ENDPOINT,
      token: deployment.secretText("delivery-api-token"),
      timeLimitMs: intervals.deliveryCallMs,
    }),
    ...(rfpr && { rfpr }),
    idps,
    idpSettings: idps.settings,
    ready: idps.ready,
    pinMailDomains: settings.PIN_MAIL_DOMAINS.map(domain => domain.toLowerCase()),
    pinMinLength: settings.PIN_MIN_LENGTH,
    pinMailSender: {
      language: settings.PIN_MAIL_LANGUAGE,
      organization: settings.PIN_MAIL_ORGANIZATION ?? "",
      supportContact: settings.PIN_MAIL_SUPPORT_CONTACT ?? "",
      signInUrl: settings.PIN_MAIL_SIGN_IN_URL ?? "",
    },
    onLoss: settings.ON_LOSS,
    intervals,
    concurrency: Math.min(8, callsAtOnce),
    peerLimits: peerLimits(callsAtOnce, now),
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

function openMail({ identity, now }: Deployment, settings: ConnectorSettings, timeoutMs: number): Mailer {
  return openMailer({
    ...(settings.EMAIL_CONNECTION_STRING === undefined
      ? { endpoint: settings.EMAIL_API_SEND_ENDPOINT, credential: identity }
      : { connectionString: settings.EMAIL_CONNECTION_STRING }),
    sender: settings.EMAIL_SENDER_ADDRESS,
    timeoutMs,
    now,
  });
}

/** Creates the clients of the event sinks. The position of an address in the setting is the number of its sink. */
function openSinks(deployment: Deployment, settings: ConnectorSettings, timeLimitMs: number): readonly EventSink[] {
  const { secrets, caching } = deployment;
  // Loaded at the first delivery: an import of node:http loads all of Node's fetch, for 20 ms of a start.
  const fetch: Fetch = async (...call) => {
    const { fetchFromPublicAddresses } = await import("./fetch-from-public-addresses.ts");
    return fetchFromPublicAddresses(settings.EVENT_SINK_ALLOW_PRIVATE)(...call);
  };
  const tools = { ...peerTools(deployment), fetch };
  return settings.EVENT_SINK_URLS.flatMap((url, index) => {
    const number = index + 1;
    if (url === noSink) return [];
    const values = signingSecrets(secrets, sinkSecretName(number), caching);
    return [
      connectEventSink({
        ...tools,
        number,
        url,
        types: settings.EVENT_SINK_TYPES[index],
        secrets: values,
        timeLimitMs,
      }),
    ];
  });
}

/** Creates the clients of the IdPs. If a file configures them, it is read again while the app runs (C13). */
function openIdps(
  deployment: Deployment,
  settings: ConnectorSettings,
  {
    source: { known, file, secretHosts },
    intervals,
  }: { readonly source: IdpSettingsAtStart; readonly intervals: Intervals },
): ReturnType<typeof configuredIdps> {
  const { secretText, identity, blobs, now, log } = deployment;
  const tools: Omit<IdpDeps, "secret"> = {
    ...peerTools(deployment),
    fetch: fetchFromSecretHosts(deployment.fetch, secretHosts),
    managedIdentityToken: scope => accessToken(identity, scope),
    timeLimitMs: intervals.idpCallMs,
  };
  const limits = { ...deploymentLimits, ...connectorLimits, ...deployment.limits };
  return configuredIdps({
    defaultId: settings.IDP_DEFAULT,
    secretHosts,
    known,
    file: file && {
      read: idpFileReader(file, { blobs, timeoutMs: limits.storageCallMs }),
      maxAgeMs: limits.idpFileMaxAgeMs,
      retryAfterMs: limits.idpFileRetryMs,
    },
    connect: (id, idp) => kindOf(idp).connect(id, idp, { ...tools, secret: secretText(idpSecretName(id)) }),
    now,
    log,
  });
}

/** Creates the client of the pre-registration API, if the deployment has on-site enrollment. */
function openRfpr(
  deployment: Deployment,
  { RFPR_API_BASE_URL: baseUrl, ENROLLMENT_SERVICE_API_BASE_URL: tokenBaseUrl }: ConnectorSettings,
  timeLimitMs: number,
): Rfpr | undefined {
  if (baseUrl === undefined || tokenBaseUrl === undefined) return undefined;
  const tools = { ...peerTools(deployment), timeLimitMs };
  const credential = deployment.secretText("enrollment-credential");
  const tokens = connectEnrollment({ ...tools, baseUrl: tokenBaseUrl, credential });
  return connectRfpr({ ...tools, baseUrl, tokens });
}
