import { enrollmentId } from "../../../../lib/connector/key-ids.ts";
import type { DueEntry, Loaded } from "../../../../lib/connector/ports.ts";
import type { Key, Queue } from "../../../../lib/connector/request.ts";
import { isTerminal } from "../../../../lib/connector/states.ts";
import type { Peers } from "../../../../local/peers/all.ts";
import type { Stage } from "./stage.ts";

const queues: readonly Queue[] = ["settle", "poll", "key", "shipment_key", "clean", "forget"];
const working: readonly Queue[] = ["settle", "poll", "key", "shipment_key"];

/** What is stuck: open, and no job will ever look at it. */
export async function stuck(stage: Stage): Promise<readonly string[]> {
  const loaded = await stage.connector.context.requests.load(stage.requestId);
  if (loaded === undefined) return [];
  const index = await indexOf(stage);
  const wrong = [...unindexed(loaded, index)];
  const dues = rowsOf(loaded).flatMap(({ due }) => due ?? []);
  if (!isTerminal(loaded.request.value.state) && !dues.some(({ queue }) => working.includes(queue)))
    wrong.push("nothing of the open request is due");
  for (const { value: key } of loaded.keys)
    if ((key.mail.state === "due" || hasPending(key)) && key.due === undefined)
      wrong.push(`open key ${key.id} is not due`);
  return wrong;
}

const hasPending = ({ credentials }: Key) => credentials.some(({ state }) => state === "activation_pending");

/** What is wrong when nothing is due any more: lost, done twice, or left open. */
export async function wrongInTheEnd(stage: Stage): Promise<readonly string[]> {
  const { connector, requestId } = stage;
  const loaded = await connector.context.requests.load(requestId);
  if (loaded === undefined) return ["the request is gone"];
  const index = await indexOf(stage);
  return [
    ...(isTerminal(loaded.request.value.state) ? [] : [`the request is ${loaded.request.value.state}`]),
    ...rowsOf(loaded).flatMap(({ id, lease }) => (lease === undefined ? [] : [`${id} is held`])),
    ...index.filter(({ queue }) => working.includes(queue)).map(({ queue, at }) => `${queue} has a row of ${at}`),
    ...unindexed(loaded, index),
    ...connector.events("work_failed").map(({ error }) => `a job failed: ${JSON.stringify(error)}`),
    ...wrongOrders(stage, await stage.peers.delivery.shipments()),
    ...wrongRegistrations(loaded, stage.peers),
    ...(await wrongMails(loaded, stage)),
    ...wrongEnrollments(stage),
  ];
}

const rowsOf = ({ request, keys }: Loaded) => [request.value, ...keys.map(({ value }) => value)];

async function indexOf({ connector, requestId }: Stage): Promise<readonly DueEntry[]> {
  const found = await Promise.all(queues.map(queue => connector.queue(queue)));
  return found.flat().filter(entry => entry.requestId === requestId);
}

const unindexed = ({ request, keys }: Loaded, index: readonly DueEntry[]): readonly string[] =>
  [
    { due: request.value.due, keyId: undefined },
    ...keys.map(({ value }) => ({ due: value.due, keyId: value.id })),
  ].flatMap(({ due, keyId }) =>
    due === undefined || index.some(row => row.queue === due.queue && row.at === due.at && row.keyId === keyId)
      ? []
      : [`${keyId ?? "the request"} has no row in ${due.queue}`],
  );

function wrongOrders(
  { requestId, peers }: Stage,
  shipments: readonly { readonly customerReference: string | undefined }[],
): readonly string[] {
  const made = shipments.filter(({ customerReference }) => customerReference === requestId).length;
  const calls = peers.delivery.count("POST", /shipments$/);
  return made > 1 || calls > 1 ? [`ordered by ${calls} calls, of which ${made} were taken`] : [];
}

/** A credential is at its IdP once where it counts as active, and never twice. */
function wrongRegistrations(loaded: Loaded, { entra, pingone, aic }: Peers): readonly string[] {
  const all = [entra, pingone, aic].flatMap(idp => idp.registrations());
  return loaded.keys.flatMap(({ value }) =>
    value.credentials.flatMap(({ userId, state, errorMessage }) => {
      const times = all.filter(each => each.userId === userId).length;
      // The one way in which it is known here that nobody knows (decision C8).
      const mayBe = state === "failed" && errorMessage?.includes("may be registered, check") === true;
      if (times === (state === "active" ? 1 : 0) || (times === 1 && mayBe)) return [];
      return [`a credential that is ${state} is registered ${times} times`];
    }),
  );
}

/** A key with an active credential has told its PIN, the right one, in one mail. */
async function wrongMails({ request, keys }: Loaded, { peers, requestId }: Stage): Promise<readonly string[]> {
  const mails = peers.mail.mails().filter(({ to }) => to.includes(request.value.recipient.email));
  const wanting = keys.map(({ value }) => value).filter(({ mail }) => mail.state !== "none");
  const wrong = mails.length === wanting.length ? [] : [`${mails.length} mails for ${wanting.length} keys`];
  const shipped = (await peers.delivery.shipments()).flatMap(shipment => shipment.keys);
  for (const key of wanting) {
    const mail = mails.find(({ text }) => text?.includes(key.serial ?? "no serial"));
    const [, told = "none"] = /^ {4}(\S+)\r?$/m.exec(mail?.text ?? "") ?? [];
    const isTold = shipped.some(({ serial, pin }) => serial === key.serial && pin === told);
    if (!isTold && !onSitePin(key, told, { peers, requestId })) wrong.push(`the PIN of ${key.id} is lost`);
  }
  return wrong;
}

function onSitePin(key: Key, pin: string, { peers, requestId }: Pick<Stage, "peers" | "requestId">): boolean {
  return key.place === "authenticator" && peers.rfpr.opens(enrollmentId(requestId, key.id), pin);
}

/** Nothing of an ended request can be enrolled. */
const wrongEnrollments = ({ peers, requestId }: Stage): readonly string[] =>
  peers.rfpr
    .authenticatorRequests()
    .filter(({ id, state }) => id.startsWith(`${requestId}.`) && state === "waiting")
    .map(({ id }) => `${id} can be enrolled`);
