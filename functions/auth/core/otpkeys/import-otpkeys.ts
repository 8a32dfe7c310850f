import * as z from "zod";
import { type BatchKey, importKeys } from "../../../../lib/auth/otpkeys/import-keys.ts";
import type { Caller } from "../../../../lib/platform/caller.ts";
import { Fault, invalidRequest } from "../../../../lib/platform/fault.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { safeParse } from "../../../../lib/platform/http/parse/problems.ts";
import type { AuthContext } from "../../context.ts";
import { importOutcome, outcomeFields } from "../import-outcome.ts";
import { importFields, importFieldsId, problemsOfRefused, toImportedKey } from "./import-fields.ts";

/** Each OTP key is a write of its own, so the number bounds the duration of a call (A10). */
const maxKeys = 100;

const element = z.unknown().meta({ shownAs: { $ref: `#/components/schemas/${importFieldsId}` } });
const body = z.object({
  // The elements are parsed one by one, after their number was checked.
  otpkeys: z.array(element).min(1).max(maxKeys).describe("The OTP keys, each with the fields of `POST /otpkeys`."),
});

const result = z
  .object({
    index: z.int().min(0).describe("Position of the OTP key in `otpkeys`, from 0."),
    prefix: z.string().optional().describe("The prefix of the OTP key. Absent if the element cannot be read."),
    status: z
      .union([200, 201, 400, 403, 409, 500].map(status => z.literal(status)))
      .describe("The status with which `POST /otpkeys` would have answered."),
    ...outcomeFields(),
  })
  .meta({ id: "OtpKeyImportResult" });

/** Imports up to 100 OTP keys (A10). No secret is in a response or log. */
export const importOtpkeys = endpoint({
  routes: ["POST /otpkeys/batch"],
  access: "caller",
  role: "import",
  tag: "OTP keys",
  summary: "Import up to 100 otpkeys with their secrets",
  description:
    "Imports a list of OTP keys. Send it as JSON. Each element has the fields of `POST /otpkeys`, with the same rules, " +
    "and is imported completely or not at all. The response is 200, with the result of each element in the order of " +
    "the list; an element that is refused does not stop the others. If several elements have one prefix, only the " +
    "first counts. After a 503, or without a response, some OTP keys may be imported: repeat the call with the same " +
    "list. That completes it and imports nothing twice; OTP keys of the first call then have the status 200.",
  body,
  answers: {
    200: {
      description: "The result of each OTP key.",
      schema: z.object({ results: z.array(result) }).meta({ id: "OtpKeyImportResults" }),
    },
  },
  handle: async ({ body: { otpkeys } }, context: AuthContext, { caller }) => {
    const entries = readEntries(otpkeys, caller);
    const keys = entries.flatMap(({ key }) => (key instanceof Fault ? [] : [key]));
    const imported = await importKeys(keys, context);
    const resultOf = new Map(keys.map((key, index) => [key, imported[index]]));
    const results = entries.map(({ prefix, key }, index) => {
      const result = key instanceof Fault ? key : (resultOf.get(key) as (typeof imported)[number]);
      if (result instanceof Fault && result.kind === "forbidden") {
        context.log.info("otpkey_import_refused", { prefix, reason: result.reason });
      }
      return { index, ...(prefix !== undefined && { prefix }), ...importOutcome(result) };
    });
    return ok({ results });
  },
});

interface Entry {
  /** Absent if the element cannot be read. */
  readonly prefix?: string;
  readonly key: BatchKey | Fault;
}

/**
 * Parses the elements; an invalid one is a Fault. A prefix that an earlier element has is a problem of the later one.
 */
function readEntries(elements: readonly unknown[], caller: Caller): readonly Entry[] {
  const firstOf = new Map<string, number>();
  return elements.map((element, index) => {
    let prefix: string | undefined;
    try {
      const { data } = safeParse(importFields, element);
      if (data === undefined) return { key: invalidRequest(problemsOfRefused(element)) };
      ({ prefix } = data);
      const first = firstOf.get(prefix);
      if (first === undefined) firstOf.set(prefix, index);
      const problems = first === undefined ? [] : [{ path: "prefix", reason: `is also that of the element ${first}` }];
      return { prefix, key: { ...toImportedKey(data, caller), problems } };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { ...(prefix !== undefined && { prefix }), key: error };
    }
  });
}
