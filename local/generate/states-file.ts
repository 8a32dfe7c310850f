import { deliveryStates } from "../../lib/connector/model/shipment.ts";
import {
  type CredentialEvent,
  type CredentialState,
  credentialStates,
  credentialTransitions,
  isTerminal,
  type RequestState,
  requestStates,
  revocationStates,
  rollUpRequest,
  rollUpSecurityKey,
  type SecurityKeyState,
  securityKeyStates,
  startRequest,
  transition,
} from "../../lib/connector/model/states.ts";

/** What each event of a credential means. The diagram names the events by these keys. */
const eventMeanings: Readonly<Record<CredentialEvent, string>> = {
  response_decoded: "The security key's response is decrypted, and its signature is valid.",
  response_rejected: "The decoded response is lost or unusable when the credential is to be activated.",
  activated: "The identity provider has registered the credential.",
  refused: "The identity provider has refused the credential for good.",
  not_enrolled: "The enrollment service could not make the credential.",
  expired: "The challenge, or the period for retries, has ended.",
  cancelled: "The credential is cancelled before the security key is produced.",
  request_failed: "The request fails before it starts.",
};

/** What each state of a delivery means. */
const deliveryMeanings: Readonly<Record<(typeof deliveryStates)[number], string>> = {
  in_transit: "The security keys were shipped.",
  delivered: "The delivery service reports them as delivered (104).",
  lost: "It reports them as lost (105).",
  exception: "It reports that the carrier could not deliver them (106).",
  unknown: "It reported no end in 30 days, or does not know the shipment any more.",
};

/** One arrow of a diagram. */
type Arrow = readonly [from: string, to: string, label?: string];

/** The page about states by its path, generated from the connector's transitions and roll-ups. */
export const statesFile = (): Readonly<Record<string, string>> => ({
  "docs/states.md": `# States

The states of the connector's requests, security keys and credentials. Decision [C7](decisions/connector.md#c7) defines
them, \`lib/connector/model/states.ts\` implements them. A terminal state never changes.

This file is generated from the code by \`npm run settings\`. A test fails while it is outdated.

## Credential

${diagram(credentialStates, credentialArrows())}

| Event | Meaning |
|---|---|
${Object.entries(eventMeanings)
  .map(([event, meaning]) => `| \`${event}\` | ${meaning} |`)
  .join("\n")}

## Revocation

An active credential can be removed at its identity provider ([C21](decisions/connector.md#c21)). Reads then show the
state of the removal instead: ${list.format(revocationStates.map(quoted))}. The states of its security key and its
request count it as \`active\`, because they never change again. A credential whose revocation failed may still
work: [look at the identity provider](operate.md#a-security-key-is-lost). It can be revoked again.

## Security key

A shipment item or an on-site authenticator. Its state follows from the states of its credentials: it is \`processing\`
until each of them is terminal.

${diagram(securityKeyStates, rollUpArrows("processing", credentialStates, rollUpSecurityKey))}

| Credentials of the security key | State of the security key |
|---|---|
${rollUpRows(credentialStates, rollUpSecurityKey)}

## Request

A request is \`received\` until every order that it needs is accepted, then \`started\`. After that its state follows from
the states of its security keys: it is \`started\` until each of them is terminal. A request that fails before it starts
also ends all its credentials, by the event \`request_failed\`.

A request whose order was not answered is \`started\` when a look-up finds the shipment. It is \`received\` again if the
shipment proves to belong to another request, and the look-up continues ([C6](decisions/connector.md#c6)). Its
authenticators may be active then, so that it ends \`partial\` if its own shipment is never found. If one of them still
waits for its activation, the request is \`started\` until that has ended.

${diagram(requestStates, requestArrows())}

| Security keys of the request | State of the request |
|---|---|
${rollUpRows(securityKeyStates, rollUpStarted)}

## Delivery

Where the parcel of a shipment is, \`shipment.delivery.state\` in reads. It belongs to no state above: it goes on after
the request has ended ([C10](decisions/connector.md#a-shipment-is-tracked-to-its-end)).

| State | Meaning |
|---|---|
${deliveryStates.map(state => `| \`${state}\` | ${deliveryMeanings[state]} |`).join("\n")}
`,
});

const rollUpStarted = (keys: readonly SecurityKeyState[]): RequestState => rollUpRequest("started", keys);

/** One arrow for each pair of states, labelled with every event that leads from one to the other. */
const credentialArrows = (): Arrow[] =>
  credentialStates.flatMap(from =>
    [...Map.groupBy(Object.entries(credentialTransitions[from]), ([, to]) => to)].map(
      ([to, events]): Arrow => [from, to, events.map(([event]) => event).join(", ")],
    ),
  );

function requestArrows(): Arrow[] {
  const endOf = (event: CredentialEvent) => rollUpSecurityKey([transition("processing", event)]);
  const fromReceived = (...keys: SecurityKeyState[]) => rollUpRequest("received", keys);
  return [
    ["received", startRequest("received"), "every order is accepted, or an authenticator continues without it"],
    ["received", fromReceived(endOf("request_failed")), "request_failed"],
    ["received", fromReceived(endOf("cancelled")), "cancelled"],
    ["received", fromReceived("complete", endOf("request_failed")), "request_failed after a rejected link"],
    ["started", "received", "the link of a shipment is rejected"],
    ...rollUpArrows("started", securityKeyStates, rollUpStarted),
  ];
}

/** One arrow for each state to which a roll-up of terminal states leads. */
const rollUpArrows = <S extends CredentialState | SecurityKeyState>(
  from: string,
  states: readonly S[],
  rollUp: (states: readonly S[]) => string,
): Arrow[] => [...new Set(mixesOf(states).map(rollUp))].map((to): Arrow => [from, to]);

const rollUpRows = <S extends CredentialState | SecurityKeyState>(
  states: readonly S[],
  rollUp: (states: readonly S[]) => string,
): string =>
  mixesOf(states)
    .map(mix => `| ${mix.length === 1 ? `all \`${mix[0]}\`` : list.format(mix.map(quoted))} | \`${rollUp(mix)}\` |`)
    .join("\n");

const list = new Intl.ListFormat("en-GB");

const quoted = (state: string): string => `\`${state}\``;

/** Every combination of terminal states that can occur side by side, the smaller ones first. */
function mixesOf<S extends CredentialState | SecurityKeyState>(states: readonly S[]): S[][] {
  const terminal = states.filter(isTerminal);
  const mixes = terminal.reduce<S[][]>((found, state) => found.concat(found.map(mix => [...mix, state])), [[]]);
  return mixes.filter(mix => mix.length > 0).sort((a, b) => a.length - b.length);
}

/** A Mermaid state diagram: the first state is the initial one. */
function diagram(
  states: readonly (CredentialState | SecurityKeyState | RequestState)[],
  arrows: readonly Arrow[],
): string {
  const lines = [
    `[*] --> ${states[0]}`,
    ...arrows.map(([from, to, label]) => `${from} --> ${to}${label === undefined ? "" : `: ${label}`}`),
    ...states.filter(isTerminal).map(state => `${state} --> [*]`),
  ];
  return ["```mermaid", "stateDiagram-v2", ...lines.map(line => `  ${line}`), "```"].join("\n");
}
