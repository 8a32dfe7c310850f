// The mail domain: Azure looks for its DNS records only when it is asked to.
import { setTimeout as wait } from "node:timers/promises";
import { readDomain, verifyRecord } from "../../hooks/mail-domain.mjs";

const isUnderWay = ({ state }) => state === "VerificationRequested" || state === "VerificationInProgress";
const isMissing = ({ state }) => state !== "Verified";

/** Returns what is left of the verification, undefined if nothing is. */
export function mailLeft({ az, environment }) {
  const records = readDomain(az, environment);
  if (records === undefined) return "the mail domain cannot be read";
  const missing = records.filter(isMissing);
  return missing.length === 0
    ? undefined
    : `publish these DNS records of ${environment.MAIL_DOMAIN_NAME}:\n${shown(missing)}`;
}

/** Has Azure look for the records that are not verified. */
export function startVerification({ az, environment, tell }) {
  const missing = (readDomain(az, environment) ?? []).filter(isMissing);
  const asked = missing.filter(each => !isUnderWay(each) && verifyRecord(az, environment, each.kind));
  if (asked.length > 0)
    tell(`Azure looks for ${asked.map(({ kind }) => kind).join(", ")} of ${environment.MAIL_DOMAIN_NAME}.`);
}

/** Waits while Azure looks. Returns what is left, undefined if all records are verified. */
export async function awaitVerification({ az, environment, tell, waitMs, pauseMs }) {
  const until = Date.now() + waitMs;
  for (let told = false; ; told = true) {
    const records = readDomain(az, environment);
    if (!records?.some(isUnderWay) || Date.now() >= until) return mailLeft({ az, environment });
    if (!told) tell(`Waiting for Azure to find the DNS records, for up to ${Math.ceil(waitMs / 60_000)} minutes.`);
    await wait(pauseMs);
  }
}

const shown = records =>
  records
    .map(({ kind, record }) =>
      record ? `    ${record.type}  ${record.name}  ${record.ttl}  ${record.value}` : `    ${kind}`,
    )
    .join("\n");
