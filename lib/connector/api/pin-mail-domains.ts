import type { Problem } from "../../platform/fault.ts";
import { isMailable } from "../model/pin-mail.ts";
import type { DraftLocation } from "./body-format.ts";

/** Returns a problem for each address of a create that no PIN email may go to. */
export function pinMailProblems(
  emailsTo: readonly string[],
  domains: readonly string[],
  pathOf: (location: DraftLocation) => string,
): readonly Problem[] {
  return emailsTo.flatMap((email, index) =>
    isMailable(email, domains)
      ? []
      : [{ path: pathOf({ field: "emailTo", index }), reason: "is not in a domain that PIN emails may go to" }],
  );
}
