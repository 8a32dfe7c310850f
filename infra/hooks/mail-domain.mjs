// The mail domain in Azure: its records, and whether the service that sends is linked to it.

/** The kinds of records that Azure verifies before a domain can be linked. */
export const recordKinds = ["Domain", "SPF", "DKIM", "DKIM2"];

const apiVersion = "2023-04-01";
const groupOf = ({ AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP }) =>
  `/subscriptions/${AZURE_SUBSCRIPTION_ID}/resourceGroups/${AZURE_RESOURCE_GROUP}/providers/Microsoft.Communication`;

/** Whether the domain is linked to the service that sends; undefined where Azure does not say. */
export function isDomainLinked(az, environment, domain) {
  const found = az(
    "rest",
    "--method",
    "get",
    "--url",
    `${groupOf(environment)}/communicationServices?api-version=${apiVersion}`,
  );
  if (!found?.value) return undefined;
  const own = found.value.filter(({ tags }) => tags?.["azd-env-name"] === environment.AZURE_ENV_NAME);
  const domains = own.flatMap(({ properties }) => properties.linkedDomains ?? []);
  return domains.some(id => id.toLowerCase().endsWith(`/domains/${domain.toLowerCase()}`));
}

const domainOf = environment =>
  `${groupOf(environment)}/emailServices/${environment.MAIL_SERVICE_NAME}/domains/${environment.MAIL_DOMAIN_NAME}`;

/** Returns the state of each record and the record itself, by kind; undefined where Azure does not say. */
export function readDomain(az, environment) {
  const found = az("rest", "--method", "get", "--url", `${domainOf(environment)}?api-version=${apiVersion}`);
  if (!found?.properties) return undefined;
  const { verificationStates = {}, verificationRecords = {} } = found.properties;
  return recordKinds.map(kind => ({
    kind,
    state: verificationStates[kind]?.status,
    record: verificationRecords[kind],
  }));
}

/** Has Azure look for a record. Without the extension of `az communication`, which not every machine may install. */
export const verifyRecord = (az, environment, kind) =>
  az(
    "rest",
    "--method",
    "post",
    "--url",
    `${domainOf(environment)}/initiateVerification?api-version=${apiVersion}`,
    "--body",
    JSON.stringify({ verificationType: kind }),
  ) !== undefined;
