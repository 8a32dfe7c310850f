import { isRevoking } from "../../../../../../lib/connector/model/credential.ts";
import type { LoadedRequest } from "../../../../../../lib/connector/model/loaded-request.ts";
import { enrollmentId, type SecurityKey } from "../../../../../../lib/connector/model/security-key.ts";
import { isTerminal } from "../../../../../../lib/connector/model/states.ts";
import type { DueEntry } from "../../../../../../lib/connector/storage/due-index.table.ts";
import type { Peers } from "../../../../../../local/peers/all.ts";
import type { TestConnector } from "../../../../../support/connector/test-connector.ts";
import type { Stage } from "../stage.ts";
import { indexOf, isWork, rowsOf } from "./rows.ts";

/** What is stuck: open, and no job will ever look at it. */
export async function stuck(stage: Stage, loaded: LoadedRequest | undefined): Promise<readonly string[]> {
  if (loaded === undefined) return [];
  const wrong = [...unindexed(loaded, await indexOf(stage))];
  const dues = rowsOf(loaded).flatMap(({ due }) => due ?? []);
  if (!isTerminal(loaded.request.state) && !dues.some(isWork)) wrong.push("nothing of the open request is due");
  for (const key of loaded.keys)
    if ((key.mail.state === "due" || hasPending(key)) && (key.due === undefined || !isWork(key.due)))
      wrong.push(`open key ${key.id} is not due`);
  return wrong;
}

const hasPending = ({ credentials }: SecurityKey) =>
  credentials.some(each => each.state === "activation_pending" || isRevoking(each));

/** What is wrong when nothing is due any more: lost, done twice, or left open. @param mails how many a key may have had */
export async function wrongInTheEnd(
  stage: Stage,
  loaded: LoadedRequest | undefined,
  mails: readonly number[],
): Promise<readonly string[]> {
  if (loaded === undefined) return ["the request is gone"];
  const index = await indexOf(stage);
  const shipments = await stage.peers.delivery.shipments();
  return [
    ...(isTerminal(loaded.request.state) ? [] : [`the request is ${loaded.request.state}`]),
    ...rowsOf(loaded).flatMap(({ id, lease }) => (lease === undefined ? [] : [`${id} has a lease`])),
    ...index.filter(isWork).map(({ queue, at }) => `${queue} has a row of ${at}`),
    ...unindexed(loaded, index),
    ...brokenJobs(stage.connector),
    ...wrongOrders(loaded, stage, shipments),
    ...wrongRegistrations(loaded, stage.peers),
    ...wrongMails(loaded, stage, { shipped: shipments.flatMap(shipment => shipment.keys), mails }),
    ...wrongEnrollments(stage),
  ];
}

/** Work that failed by something else than a peer has met what must not be. */
export const brokenJobs = ({ events }: Pick<TestConnector, "events">): readonly string[] =>
  events("work_failed").flatMap(({ error }) => {
    const { name, message } = error as { readonly name?: string; readonly message?: string };
    return name === "PeerFailure" ? [] : [`a job failed: ${message}`];
  });

const unindexed = (loaded: LoadedRequest, index: readonly DueEntry[]): readonly string[] =>
  rowsOf(loaded).flatMap(({ id, due }) => {
    const keyId = id === loaded.request.id ? undefined : id;
    const isThere = (row: DueEntry) => row.queue === due?.queue && row.at === due.at && row.keyId === keyId;
    return due === undefined || index.some(isThere) ? [] : [`${keyId ?? "the request"} has no row in ${due.queue}`];
  });

/** Ordered once at most, and what was taken is known here. */
function wrongOrders(
  { request }: LoadedRequest,
  { requestId, peers }: Stage,
  shipments: readonly { readonly id: string; readonly customerReference: string | undefined }[],
): readonly string[] {
  const made = shipments.filter(({ customerReference }) => customerReference === requestId);
  const calls = peers.delivery.count("POST", /shipments$/);
  const unknown = made.filter(({ id }) => id !== request.delivery?.shipment?.id);
  return [
    ...(made.length > 1 || calls > 1 ? [`ordered by ${calls} calls, of which ${made.length} were taken`] : []),
    ...unknown.map(({ id }) => `shipment ${id} is lost`),
  ];
}

/** A credential is at its IdP once where it counts as active and not as revoked, and never else. */
function wrongRegistrations(loaded: LoadedRequest, { entra, pingone, aic }: Peers): readonly string[] {
  const all = [entra, pingone, aic].flatMap(idp => idp.registrations());
  return loaded.keys.flatMap(key =>
    key.credentials.flatMap(({ userId, state, mayBeRegistered, revocation }) => {
      const times = all.filter(each => each.userId === userId).length;
      const isThere = state === "active" && revocation?.state !== "revoked";
      if (times === (isThere ? 1 : 0) || (times === 1 && mayBeRegistered)) return [];
      return [`a credential that is ${state} is registered ${times} times`];
    }),
  );
}

/** The right PIN of a security key with an active credential was mailed as often as it should be. */
function wrongMails(
  { request, keys }: LoadedRequest,
  { peers, requestId }: Stage,
  {
    shipped,
    mails: allowed,
  }: {
    readonly shipped: readonly { readonly serial: string; readonly pin?: string }[];
    readonly mails: readonly number[];
  },
): readonly string[] {
  const mails = peers.mail.mails().filter(({ to }) => to.includes(request.recipient.email));
  const wrong: string[] = [];
  const wanting = keys.filter(key => key.mail.state !== "none");
  for (const key of wanting) {
    const own = mails.filter(({ text }) => text?.includes(`Serial number: ${key.serial}`));
    if (!allowed.includes(own.length)) wrong.push(`${own.length} mails for ${key.id}`);
    const pins = own.map(({ text }) => /^ {4}(\S+)\r?$/m.exec(text ?? "")?.[1] ?? "");
    const isRight = (mailed: string) =>
      shipped.some(({ serial, pin }) => serial === key.serial && pin === mailed) ||
      (key.provisioning === "on_site" && peers.rfpr.opens(enrollmentId(requestId, key.id), mailed));
    if (!pins.every(isRight)) wrong.push(`the PIN of ${key.id} gets wrong`);
  }
  const most = wanting.length * Math.max(...allowed);
  return mails.length > most ? [...wrong, `${mails.length} mails for ${wanting.length} keys`] : wrong;
}

/** Nothing of an ended request can be enrolled. */
const wrongEnrollments = ({ peers, requestId }: Stage): readonly string[] =>
  peers.rfpr
    .authenticatorRequests()
    .filter(({ id, state }) => id.startsWith(`${requestId}.`) && state === "waiting")
    .map(({ id }) => `${id} can be enrolled`);
