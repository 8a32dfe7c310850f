import * as z from "zod";
import { credentialRequestV2 } from "../../lib/connector/api/read-credential-request.ts";
import type { Calls } from "./calls.ts";
import type { Narrator } from "./print.ts";

/** Reads a request with one key and prints the states of request, key and credential. Rejects if they are not the expected ones. */
export async function showStates(
  id: string,
  expected: readonly [request: string, key: string, credential: string],
  { calls, narrator }: { readonly calls: Calls; readonly narrator: Narrator },
): Promise<void> {
  const answer = await calls.api("GET", `/v2/credential-requests/${id}`, 200);
  const { data } = z.object({ data: credentialRequestV2 }).parse(answer);
  const [key] = [...(data.shipment?.shipment_items ?? []), ...(data.authenticators ?? [])];
  const [credential] = key?.credentials ?? [];
  const states = [data.state, key?.state, credential?.state];
  narrator.states({ request: data.state, key: key?.state ?? "", credential: credential?.state ?? "" });
  if (states.join() !== expected.join()) {
    const reason = data.error_message ?? credential?.error_message ?? "";
    throw new Error(`the states are ${states.join(", ")} instead of ${expected.join(", ")}. ${reason}`.trim());
  }
}
