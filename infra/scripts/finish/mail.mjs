// The mail domain: Azure looks for its DNS records only when it is asked to.
import { setTimeout as wait } from "node:timers/promises";
import { readDomain, verifyRecord } from "../../hooks/mail-domain.mjs";

const isUnderWay = ({ state }) => state === "VerificationRequested" || state === "VerificationInProgress";
const isMissing = ({ state }) => state !== "Verified";
const kindsOf = records => records.map(({ kind }) => kind).join(", ");

/** Returns what is left of the verification, undefined if nothing is. */
export const mailLeft = ({ az, environment }) => leftOf(readDomain(az, environment), environment);

function leftOf(records, { MAIL_DOMAIN_NAME }) {
  if (records === undefined) return "the mail domain cannot be read";
  const missing = records.filter(isMissing);
  return missing.length === 0
    ? undefined
    : `publish these DNS records of ${MAIL_DOMAIN_NAME} (type, name, seconds, value):\n${shown(missing, MAIL_DOMAIN_NAME)}`;
}

/** Has Azure look for the records that are not verified. Azure looks for no other record before it has found that of the domain. */
export function startVerification({ az, environment, tell }, records = readDomain(az, environment) ?? []) {
  const missing = records.filter(isMissing);
  const domain = missing.filter(({ kind }) => kind === "Domain");
  const due = (domain.length > 0 ? domain : missing).filter(each => !isUnderWay(each));
  const asked = due.filter(({ kind }) => verifyRecord(az, environment, kind));
  if (asked.length > 0) tell(`Azure looks for ${kindsOf(asked)} of ${environment.MAIL_DOMAIN_NAME}.`);
}

/**
 * Waits until Azure has found all records, and has it look again for those that it did not find: a new record takes minutes to appear.
 * Returns what is left, undefined if all records are verified.
 */
export async function awaitVerification(context) {
  const { az, environment, tell, waitMs, pauseMs } = context;
  const until = Date.now() + waitMs;
  for (let last; ; ) {
    const records = readDomain(az, environment);
    const left = leftOf(records, environment);
    if (left === undefined || Date.now() >= until) return left;
    const missing = kindsOf((records ?? []).filter(isMissing));
    if (missing !== last) tell(`Waiting for up to ${Math.ceil((until - Date.now()) / 60_000)} minutes for ${missing}.`);
    last = missing;
    startVerification({ ...context, tell: () => {} }, records ?? []);
    await wait(pauseMs);
  }
}

const shown = (records, domain) =>
  records
    .map(({ kind, record }) =>
      record ? `    ${record.type}  ${wholeName(record.name, domain)}  ${record.ttl}  ${record.value}` : `    ${kind}`,
    )
    .join("\n");

/** The names of CNAME records lack the domain. */
const wholeName = (name, domain) =>
  `.${name}`.toLowerCase().endsWith(`.${domain.toLowerCase()}`) ? name : `${name}.${domain}`;
