import * as z from "zod";
import type { Fault, FaultKind } from "../../lib/platform/fault.ts";
import { type Reply, retryAfterHeader } from "../../lib/platform/http/call.ts";

const errorTypes = ["validation", "authentication", "not_found", "conflict", "throttled", "internal"] as const;
const errorCodes = ["api_error", "delivery_error", "idp_error"] as const;

/** Status and body of every refusal (specification section 7, decision C1). */
const table: Record<
  FaultKind,
  { status: number; code: (typeof errorCodes)[number]; type?: (typeof errorTypes)[number] }
> = {
  invalid: { status: 400, code: "api_error", type: "validation" },
  unauthenticated: { status: 401, code: "api_error", type: "authentication" },
  forbidden: { status: 403, code: "api_error", type: "authentication" },
  not_found: { status: 404, code: "api_error", type: "not_found" },
  conflict: { status: 409, code: "api_error", type: "conflict" },
  length_required: { status: 411, code: "api_error", type: "validation" },
  too_large: { status: 413, code: "api_error", type: "validation" },
  unsupported_media: { status: 415, code: "api_error", type: "validation" },
  throttled: { status: 429, code: "api_error", type: "throttled" },
  delivery_refused: { status: 400, code: "delivery_error" },
  idp_refused: { status: 400, code: "idp_error" },
  unavailable: { status: 503, code: "api_error", type: "internal" },
  internal: { status: 500, code: "api_error", type: "internal" },
};

export const problem = z.lazy(() =>
  z
    .object({
      path: z.string().describe("The field, as in `shipment.shipment_items[0].name`."),
      reason: z.string().describe("What is wrong with it, as the rest of a sentence that begins with the field."),
      code: z.string().optional().describe("Only with `dry_run`: names the reason for programs, as in `user_guest`."),
    })
    .meta({ id: "Problem", description: "One field that is wrong." }),
);

const errorData = z.lazy(() =>
  z
    .looseObject({
      error_type: z.enum(errorTypes).optional().describe("Only with `api_error`."),
      fields: z
        .array(problem)
        .optional()
        .describe("Every field that is wrong. Only with `validation`, and with `dry_run` what could not be checked."),
      warnings: z
        .array(problem)
        .optional()
        .describe("Only with `dry_run`: what does not prevent the order, but may prevent an activation."),
      code: z.unknown().optional().describe("Only with `delivery_error`: the delivery service's code."),
      message: z.string().optional().describe("Only with `delivery_error`: the delivery service's message."),
      credential_request_id: z
        .string()
        .optional()
        .describe("The request, if it exists although the call failed. Read it to see what became of it."),
    })
    .meta({ id: "ErrorData" }),
);

export const errorBody = z.lazy(() =>
  z
    .object({
      error_code: z.enum(errorCodes).describe("Where the error comes from."),
      error_message: z.string().describe("What is wrong, for people. The text can change."),
      error_data: errorData.optional().describe("Details for programs. Absent with `idp_error`."),
    })
    .meta({ id: "ErrorResponse" }),
);

/** A refusal in the connector's wire shape. */
export function refuse(fault: Fault): Reply {
  const { status, code, type } = table[fault.kind];
  const data = {
    ...(type === undefined ? {} : { error_type: type }),
    ...(fault.problems.length === 0 ? {} : { fields: fault.problems }),
    ...fault.data,
  };
  return {
    status,
    headers: {
      ...retryAfterHeader(fault),
      ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    },
    body: { error_code: code, error_message: fault.message, ...(code === "idp_error" ? {} : { error_data: data }) },
  };
}
