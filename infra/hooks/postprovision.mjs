// After the resources are made: the new keys are deleted here.
import { setInEnvironment } from "./command.mjs";

setInEnvironment({ NEW_AUTH_DATA_KEY: "", NEW_AUTH_PEPPER: "", NEW_CONNECTOR_DATA_KEY: "" });

const { MAIL_DOMAIN_VERIFIED, CALLER_AUDIENCES, CORE_DEPLOY_RANGE, CORE_SETUP_RANGE, TRIAL } = process.env;

if (TRIAL === "true") {
  console.log(
    `\nTRIAL=true, never for real data: stores and vaults answer on the internet, protected by roles alone; Core answers to ${[CORE_DEPLOY_RANGE, CORE_SETUP_RANGE].filter(Boolean).join(" and ") || "no address, because CORE_DEPLOY_RANGE is empty"}; a broken app reaches the addresses of the other service; vaults can be purged.`,
  );
}

if (CORE_SETUP_RANGE && TRIAL !== "true") {
  console.log(
    `\nCore can be reached from ${CORE_SETUP_RANGE}, until \`npm run deploy:finish -- --close\` after the first user.`,
  );
}

if (MAIL_DOMAIN_VERIFIED !== "true" || !CALLER_AUDIENCES) {
  console.log(
    "\nSomething is left to do: `npm run deploy:finish -- --list` says what, `npm run deploy:finish` does it.",
  );
}
