import type { CredentialRequest, ListedCredentialRequest, SecurityKey } from "../../../docs/openapi/connector.ts";

type Service = "connector" | "core";

/** What the console's server knows of the system. */
export interface Facts {
  /** Whether it is the local system, with simulated peers. */
  readonly isSimulated: boolean;
  /** Of the APIs; none before the host has started. */
  readonly addresses: Readonly<Partial<Record<Service, string>>>;
  /** Of the operator's tokens; absent for the local system, whose tokens may do everything. */
  readonly roles?: Readonly<Partial<Record<Service, readonly string[]>>>;
  readonly peers: Readonly<Record<string, string>>;
  readonly apis: Readonly<Record<"connector" | "core" | "client", boolean>>;
  readonly nextRuns: readonly { readonly name: string; readonly at: string }[];
}

/** A role that a button or a form requires. */
export type Need = "core.support" | "core.admin" | "connector.support" | "connector.call";

/** Returns whether the operator's token has a role, or the one that includes all others. */
export function isAllowed({ roles }: Pick<Facts, "roles">, need: Need): boolean {
  const [service, role = ""] = need.split(".") as [Service, string];
  return roles === undefined || [role, "admin", "call"].some(each => roles[service]?.includes(each));
}

type Lists =
  | "sabotages"
  | "accountStatuses"
  | "pingBytes"
  | "aicForms"
  | "authenticatorKinds"
  | "entryMethods"
  | "deliveryMethods"
  | "mailOutcomes"
  | "faultKinds"
  | "requestStates"
  | "registerStates"
  | "timers"
  | "countries"
  | "softwareKeyKinds"
  | "totpAlgorithms";

/** The values that fields offer. */
export type Choices = Readonly<Record<Lists, readonly string[]>> & {
  readonly shipmentStates: Readonly<Record<string, string>>;
};

export interface ViewProps {
  readonly facts: Facts;
  readonly choices: Choices;
  /** What follows the view's name in the address. */
  readonly argument: string;
}

/** A shipment as the simulated delivery service lists it. */
export interface Shipment {
  readonly id: string;
  readonly state: number;
  readonly customerReference?: string;
  readonly keys: readonly { readonly serial: string; readonly pin?: string }[];
}

/** An on-site enrollment as the simulated agent lists it. */
export interface AuthenticatorRequest {
  readonly id: string;
  readonly state: string;
  readonly name: string;
  readonly recipient: { readonly email: string; readonly first_name: string; readonly last_name: string };
  readonly preferred: string;
  readonly pin?: { readonly minLength: number; readonly entryMethod: string; readonly deliveryMethod: string };
  readonly credentials: readonly {
    readonly user: string;
    readonly relyingParty: string;
    readonly credentialId?: string;
  }[];
  readonly expiresAt: string;
  readonly serialNumber?: string;
  readonly shownPin?: string;
  readonly errorMessage?: string;
  readonly sabotage?: string;
}

export interface Mail {
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly at: string;
  readonly text?: string;
  readonly html?: string;
}

/** A request as a list and a read of it have it. */
type Listed = Pick<ListedCredentialRequest, "shipment" | "authenticators">;

export const keysOf = ({ shipment, authenticators }: Listed): readonly SecurityKey[] => [
  ...(shipment?.shipment_items ?? []),
  ...(authenticators ?? []),
];

/** A request in such a state does not change any more. */
export const hasEnded = ({ state }: Pick<CredentialRequest, "state">): boolean =>
  state !== "received" && state !== "started";
