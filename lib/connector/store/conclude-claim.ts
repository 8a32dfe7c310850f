import type { ConnectorDeps } from "../deps.ts";
import { claimFault } from "../faults.ts";
import { type Claim, judgeRequest, type KeptAnswer } from "../model/idempotency.ts";
import type { CredentialRequest } from "../model/request.ts";

/**
 * Saves the outcome of a request in its claim before the request's rows are removed, so that its Idempotency-Key does not order again.
 * @param erased whether the claim must not keep the answer
 */
export async function concludeClaim(
  request: CredentialRequest,
  { claims }: Pick<ConnectorDeps, "claims">,
  { erased = false } = {},
): Promise<void> {
  if (request.claim === undefined) return;
  for (;;) {
    const found = await claims.find(request.claim);
    if (found === undefined || found.value.requestId !== request.id) return;
    const answer = erased ? "erased" : finalAnswer(found.value, request);
    if (answer === found.value.answer) return;
    if ((await claims.replace(found, withAnswer(found.value, answer))) !== undefined) return;
  }
}
function finalAnswer({ answer }: Claim, request: CredentialRequest): KeptAnswer | undefined {
  if (answer !== undefined && answer !== "unreconciled") return answer;
  const verdict = judgeRequest(request);
  if (verdict.is === "answered") return verdict.answer;
  if (verdict.is === "never_confirmed" || verdict.is === "cancelled") {
    const { kind, message, data } = claimFault(verdict, { requestId: request.id } as Claim);
    return { refused: { kind, message, ...(data && { data }) } };
  }
  return undefined;
}
const withAnswer = ({ answer: _, ...claim }: Claim, answer: KeptAnswer | undefined): Claim => ({
  ...claim,
  ...(answer !== undefined && { answer }),
});
