// After the resources are made: the new keys are deleted here, and what is left to do is printed.
import { setInEnvironment } from "./command.mjs";

setInEnvironment({ NEW_AUTH_DATA_KEY: "", NEW_AUTH_PEPPER: "", NEW_CONNECTOR_DATA_KEY: "" });

const {
  MAIL_DNS_RECORDS,
  MAIL_DOMAIN_NAME,
  MAIL_DOMAIN_VERIFIED,
  MAIL_SERVICE_NAME,
  AZURE_RESOURCE_GROUP,
  CALLER_AUDIENCES,
  CORE_DEPLOY_RANGE,
  TRIAL,
} = process.env;

if (TRIAL === "true") {
  console.log(
    `\nTRIAL=true, never for real data: stores and vaults answer on the internet, protected by roles alone; Core answers to ${CORE_DEPLOY_RANGE || "no address, because CORE_DEPLOY_RANGE is empty"}; a broken app reaches the addresses of the other service; vaults can be purged.`,
  );
}

if (MAIL_DOMAIN_VERIFIED !== "true") {
  console.log(`\nPIN mails cannot be sent yet. Publish these DNS records for ${MAIL_DOMAIN_NAME}:\n`);
  for (const { type, name, value, ttl } of JSON.parse(MAIL_DNS_RECORDS ?? "[]")) {
    console.log(`  ${type}  ${name}  ${ttl}  ${value}`);
  }
  const verify = `az communication email domain initiate-verification --resource-group ${AZURE_RESOURCE_GROUP}`;
  console.log("\nThen have them looked for, and run `azd provision` again when all are found:\n");
  for (const kind of ["Domain", "SPF", "DKIM", "DKIM2"]) {
    console.log(
      `  ${verify} --email-service-name ${MAIL_SERVICE_NAME} --domain-name ${MAIL_DOMAIN_NAME} --verification-type ${kind}`,
    );
  }
}

if (!CALLER_AUDIENCES) {
  console.log("\nNo caller may use Core or the connector yet: node infra/scripts/register-api.mjs --help");
}
