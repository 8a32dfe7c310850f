import { readPeer } from "../calls.ts";
import { Copy } from "../forms/button.ts";
import type { ViewProps } from "../model.ts";
import { Card, code, counted, html, Page, shownLive, Table, useLive } from "../ui.ts";

/** The calls of a peer. */
export interface PeerCalls {
  readonly total: number;
  readonly hanging: number;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly at: number;
    readonly status: number | null;
  }[];
}

export function Peers({ facts: { peers } }: ViewProps) {
  const live = useLive(
    signal =>
      Promise.all(
        Object.entries(peers).map(async ([name, url]) => {
          const [{ total, hanging }, faults] = await Promise.all([
            readPeer<PeerCalls>(name, "requests?top=0", signal),
            readPeer<readonly unknown[]>(name, "faults", signal),
          ]);
          return { name, url, total, hanging, faults: faults.length };
        }),
      ),
    [],
    2000,
  );
  return html`<${Page} title="Peers" lead="Simulated systems on ports of their own. Each lists its calls, and can be made to fail.">
    <${Card} title="All peers">
      ${shownLive(
        live,
        listed => html`<${Table} caption="Simulated peers" columns=${["Peer", "Address", "Called", "Hanging", "Faults set"]}
        rows=${listed.map(({ name, url, total, hanging, faults }) => [
          html`<a class="strong" href=${`#/peer/${encodeURIComponent(name)}`}>${name}</a>`,
          html`${code(url)} <${Copy} text=${url} of=${`address of ${name}`} />`,
          counted(total, "time"),
          hanging || "none",
          faults || "none",
        ])}
        empty="This system has no peers." />`,
      )}
    <//>
  <//>`;
}
