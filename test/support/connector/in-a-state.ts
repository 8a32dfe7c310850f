import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { plus, seconds } from "../../../lib/platform/time.ts";
import { idpFile, type Peers } from "../../../local/peers/all.ts";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { orderBody, refusalOf, type TestConnector, withoutPins } from "./test-connector.ts";

/** Settings of a connector with the IdPs of these peers, for one test file. */
export function everyIdpOfFile(peers: Peers) {
  const directory = mkdtempSync(join(tmpdir(), "idps-"));
  const path = join(directory, "idps.yaml");
  writeFileSync(path, idpFile(peers));
  afterAll(() => rmSync(directory, { recursive: true }));
  return { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path };
}

/** Creates a request whose order gets no answer. Returns its id. @param taken whether the delivery service has taken the order */
export async function unanswered(
  connector: TestConnector,
  { delivery }: Peers,
  { taken = false, body = withoutPins(orderBody()) }: { readonly taken?: boolean; readonly body?: Body } = {},
): Promise<string> {
  delivery.fail({ kind: "drop", method: "POST", phase: taken ? "after" : "before" });
  const { body: refusal } = await refusalOf(connector.order(body));
  return (refusal as { error_data: { credential_request_id: string } }).error_data.credential_request_id;
}

/** Writes the lease of another host into the rows of a request. Returns its end. */
export async function leaseElsewhere(connector: TestConnector, requestId: string): Promise<string> {
  const lease = { owner: "another", until: plus(connector.now(), seconds(180)) };
  const loaded = await connector.load(requestId);
  const keys = loaded.keys.map(key => ({ ...key, lease }));
  const saved = await connector.context.requests.save(loaded, { request: { ...loaded.request, lease }, keys });
  if (saved === undefined) throw new Error(`the request ${requestId} was changed meanwhile`);
  return lease.until;
}

/** Returns the users of a version 2 create body, in the order of their credentials. */
export const usersOf = (body: Body): readonly string[] =>
  [...(body.shipment?.shipment_items ?? []), ...(body.authenticators ?? [])].flatMap((key: Body) =>
    key.credentials.map(({ user_id }: Body) => user_id),
  );

/** Returns the PIN in a PIN email. */
export const pinIn = (text: string | undefined): string => /^ {4}(\S+)\r?$/m.exec(text ?? "")?.[1] ?? "";
