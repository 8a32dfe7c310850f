// The last provision: what the azd environment has and Azure does not yet.
import { runToEnd } from "../../hooks/command.mjs";
import { isDomainLinked } from "../../hooks/mail-domain.mjs";
import { readSettings } from "./environment.mjs";
import { mailLeft } from "./mail.mjs";

/** The mail domain can be linked once its records are verified. */
export function provisionLeft(context) {
  const { az, environment } = context;
  const { CALLER_AUDIENCES = "", CONNECTOR_APP_NAME, MAIL_DOMAIN_NAME } = environment;
  const deployed = readSettings(az, environment, CONNECTOR_APP_NAME);
  const canLink = mailLeft(context) === undefined && !isDomainLinked(az, environment, MAIL_DOMAIN_NAME);
  const parts = [
    ...(deployed?.CALLER_AUDIENCES === CALLER_AUDIENCES ? [] : ["the callers"]),
    ...(canLink ? ["the link of the mail domain"] : []),
  ];
  return parts.length === 0 ? undefined : `\`azd provision\` is needed for ${parts.join(" and ")}`;
}

export async function provision(context) {
  const { environment, options, tell } = context;
  if (options.withoutProvision)
    return `run the stage again, with CALLER_AUDIENCES="${environment.CALLER_AUDIENCES}" in its parameters: ${provisionLeft(context)}`;
  if (!options.withoutMail && mailLeft(context) !== undefined)
    return `${provisionLeft(context)}. It waits for the DNS records; --without-mail does not`;
  tell("Running azd provision, which takes about ten minutes.");
  if (runToEnd("azd", ["provision", "--no-prompt"]) !== 0) return "`azd provision` failed: repeat this command";
  return provisionLeft(context);
}
