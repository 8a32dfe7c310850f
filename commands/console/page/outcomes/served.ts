import type { ComponentChildren } from "preact";
import { system } from "../store.ts";
import { html } from "../ui.ts";

interface Props {
  readonly isServed: boolean;
  readonly name: string;
  readonly children?: ComponentChildren;
}

/** A note that an API is not served; otherwise the content. */
export function Served({ isServed, name, children }: Props) {
  if (isServed) return children;
  const { isSimulated = false, addresses = {} } = system.get() ?? {};
  const address = isSimulated ? undefined : addresses[name === "Core API" ? "core" : "connector"];
  return address === undefined
    ? html`<p class="notice">The ${name} is not served here. ${isSimulated ? "Add it to SERVICE_APIS and start again." : "Start the console with its address."}</p>`
    : html`<p class="problem">The ${name} does not respond at ${address}. Check the address, and whether it can be reached.</p>`;
}
