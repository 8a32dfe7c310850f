import * as z from "zod";
import { replacementReasons, revokeTimes } from "../../model/states.ts";
import { nonEmptyLine } from "../field-rules.ts";

/** The security key that a request replaces, in creates and reads. */
export const replacesV2 = z.lazy(() =>
  z
    .object({
      credential_request_id: z
        .guid()
        .toLowerCase()
        .describe("The request of the replaced key, also after its clean-up."),
      key_id: nonEmptyLine(64).describe("The replaced key: its `id` in the read model."),
      reason: z.enum(replacementReasons).describe("Why it is replaced."),
      revoke: z
        .enum(revokeTimes)
        .describe(
          "When its active credentials are revoked: `now`, once the order is placed; `when_active`, each once every new " +
            "credential of its user at the identity provider has ended and one is active, or 30 days after the order.",
        ),
    })
    .meta({ id: "Replacement", description: "The key that the keys of a request replace." }),
);
