import type { CredentialRequest, MailingAddress } from "../../../../docs/openapi/connector.ts";
import { ask, callHost, readHost, readPeer, segment } from "../calls.ts";
import { Button, Copy } from "../forms/button.ts";
import { type AuthenticatorRequest, hasEnded, type Mail, type Shipment, type ViewProps } from "../model.ts";
import { refusalOf } from "../outcomes/refusal.ts";
import { Badge, Card, code, FactList, html, Json, Page, shownLive, time, useLive } from "../ui.ts";
import { readEvents, SinkStates } from "./events.ts";
import { Keys } from "./keys.ts";
import { nextStep, playToTheEnd, type Situation } from "./next-step.ts";
import { Authenticator } from "./on-site.ts";
import { processRequests, processShipments } from "./requests.ts";
import { ShipmentControls, shipmentState } from "./shipment.ts";
import { Timeline, type TimelineEvent } from "./timeline.ts";

interface Story {
  readonly recipient?: Readonly<Record<string, string | undefined>>;
  readonly events: readonly TimelineEvent[];
  readonly mails: readonly Mail[];
}

export function Request({ argument: id, facts, choices }: ViewProps) {
  const path = `/v2/credential-requests/${segment(id)}`;
  const read = async (signal?: AbortSignal): Promise<Situation | string> => {
    const outcome = await readHost<{ data: CredentialRequest }>(path, signal);
    if (outcome.status !== 200) return refusalOf(outcome);
    const { data: request } = outcome.body;
    const listOf = <T>(peer: string, what: string) =>
      facts.peers[peer] === undefined ? [] : readPeer<readonly T[]>(peer, what, signal);
    const [shipments, onSite] = await Promise.all([
      request.shipment?.shipment_id === undefined ? [] : listOf<Shipment>("delivery", "shipments"),
      request.authenticators === undefined ? [] : listOf<AuthenticatorRequest>("rfpr", "authenticator-requests"),
    ]);
    return {
      request,
      shipment: shipments.find(shipment => shipment.id === request.shipment?.shipment_id),
      onSite: onSite.filter(each => each.id.startsWith(`${id}.`)),
    };
  };
  const { isSimulated } = facts;
  const story = useLive<Story>(
    async signal => (isSimulated ? ask("GET", `stories/${segment(id)}`, { signal }) : { events: [], mails: [] }),
    [id],
    2000,
  );
  const sent = useLive(signal => readEvents(path, signal), [id], 2000);
  const situation = useLive(read, [id]);
  const known = typeof situation.data === "object" ? situation.data : undefined;
  const step = known && isSimulated && nextStep(known);
  const others = [
    { label: "Process shipments", run: processShipments, needs: "connector.call" },
    { label: "Process credential requests", run: processRequests, needs: "connector.call" },
  ].filter(({ label }) => !step || label !== step.label);
  const play = () =>
    playToTheEnd(async () => {
      const now = await read();
      if (typeof now === "string") throw new Error(now);
      return now;
    });
  const actions =
    step &&
    html`<${Button} key=${step.label} label=${step.label} kind="main" run=${step.run} />
      <${Button} label="Play to the end" run=${play} />`;
  return html`<${Page} title="Request" lead=${html`${code(id)} <${Copy} text=${id} of="id of the request" />`} actions=${actions}>
    ${shownLive(situation, data =>
      typeof data === "string"
        ? html`<p class="problem">${data}</p>`
        : html`<p class="state-line">The request is <${Badge} state=${data.request.state} /> ${data.request.error_message} ${data.request.replaces && html`<a href=${`#/request/${segment(data.request.replaces.credential_request_id)}`}>It replaces a key: ${data.request.replaces.reason}.</a>`}</p>
            <div class="bar">
              <div class="buttons" role="group" aria-label="Jobs">${others.map(each => html`<${Button} key=${each.label} ...${each} />`)}</div>
              <div class="buttons" role="group" aria-label="This request">
                <${Button} label="Resend PIN emails" needs="connector.support" run=${() => callHost("POST", `${path}/resend-pin`)} confirm=${{
                  title: "Resend the PIN emails?",
                  text: `They go to ${contactsOf(data.request)}. Compare the addresses with who asks.`,
                  action: "Resend",
                }} />
                ${
                  !hasEnded(data.request) &&
                  html`<${Button} label="Cancel" kind="danger" needs="connector.support" run=${() => callHost("POST", `${path}/cancel`)} confirm=${{
                    title: "Cancel this request?",
                    text: "Its shipment and its enrollments are deleted at the peers. Credentials that are active stay.",
                    action: "Cancel the request",
                  }} />`
                }
              </div>
            </div>
            <div class="split">
              <div>
                <${Keys} request=${data.request} path=${path} />
                ${data.onSite.map(each => html`<${Authenticator} key=${each.id} request=${each} choices=${choices} />`)}
                <${Recipient} recipient=${story.data?.recipient} contacts=${contactsOf(data.request)} />
                ${data.request.shipment && html`<${ShipmentCard} ordered=${data.request.shipment} shipment=${data.shipment} choices=${choices} isSimulated=${isSimulated} />`}
                ${shownLive(sent, ({ sinks }) => sinks.length > 0 && html`<${SinkStates} sinks=${sinks} />`)}
              </div>
              <div>${shownLive(story, ({ events, mails }) => html`<${Timeline} events=${events} mails=${mails} sent=${sent.data?.data ?? []} requestPath=${path} facts=${facts} />`)}</div>
            </div>
            <details class="card"><summary>As the API answers it</summary><${Json} value=${data.request} label="The request" /></details>`,
    )}
  <//>`;
}

const contactsOf = ({ enrollment_contacts }: CredentialRequest): string =>
  enrollment_contacts?.emails_to.join(", ") ?? "";

const Recipient = ({ recipient = {}, contacts }: { recipient?: Story["recipient"]; contacts: string }) =>
  html`<${Card} title="Recipient" needs="connector.support">
    <${FactList} rows=${{
      Name: [recipient.firstName, recipient.lastName].filter(Boolean).join(" "),
      Company: recipient.company,
      Email: recipient.email,
      Telephone: recipient.telephone,
      "PIN emails go to": contacts,
    }} />
  <//>`;

type OrderedShipment = NonNullable<CredentialRequest["shipment"]>;

interface ShipmentCardProps {
  readonly ordered: OrderedShipment;
  readonly shipment?: Shipment;
  readonly choices: ViewProps["choices"];
  readonly isSimulated: boolean;
}

function ShipmentCard({ ordered, shipment, choices, isSimulated }: ShipmentCardProps) {
  const { shipment_id, mailing_address, customer_reference, tracking, delivery } = ordered;
  return html`<${Card} title="Shipment">
    <${FactList} rows=${{
      Id: code(shipment_id) ?? "none yet",
      Address: addressOf(mailing_address),
      "Your reference": customer_reference,
      Tracking: tracking && trackingOf(tracking),
      Delivery: delivery && deliveryOf(delivery),
      "At the delivery service":
        isSimulated && (shipment === undefined ? "unknown there" : shipmentState(shipment.state, choices)),
    }} />
    ${shipment && html`<${ShipmentControls} shipment=${shipment} choices=${choices} />`}
  <//>`;
}

/** Returns the number of a parcel, as a link if the carrier gives one. Only a page of the web becomes a link. */
const trackingOf = ({ number, link = "" }: NonNullable<OrderedShipment["tracking"]>) =>
  /^https?:\/\//.test(link)
    ? html`<a href=${link} target="_blank" rel="noreferrer">${number ?? link}</a>`
    : [number, link].filter(Boolean).join(" ");

const deliveryOf = ({ state, error_message, shipped_at, ended_at }: NonNullable<OrderedShipment["delivery"]>) =>
  html`<${Badge} state=${state} /> ${time(ended_at ?? shipped_at)} ${error_message}`;

const addressOf = ({ street_line1, street_line2, postal_code, city, region, country_code }: MailingAddress): string =>
  [street_line1, street_line2, [city, region, postal_code].filter(Boolean).join(" "), country_code]
    .filter(Boolean)
    .join(", ");
