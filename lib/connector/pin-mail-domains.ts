import type { Problem } from "../fault.ts";
import type { Place } from "./create-wire.ts";

/** Addresses outside the domains that PIN mails may go to (decision C14). @param domains lower case; empty allows any */
export function pinMailProblems(
  emailsTo: readonly string[],
  domains: readonly string[],
  pathOf: (place: Place) => string,
): readonly Problem[] {
  if (domains.length === 0) return [];
  return emailsTo.flatMap((email, index) => {
    const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
    return domains.includes(domain)
      ? []
      : [{ path: pathOf({ field: "emailTo", index }), reason: "is not in a domain that PIN mails may go to" }];
  });
}
