import type { Peers } from "../../../../../local/peers/all.ts";
import type { FaultRule } from "../../../../../local/peers/peer.ts";
import type { TestConnector } from "../../../../support/connector/test-connector.ts";
import type { Body } from "../../api/bodies.ts";

/** One way in which a call goes wrong. */
export interface Failure {
  /** As the table names it. */
  readonly name: string;
  /** The fault that the peer is set to; `away`: the connection is refused; else what is done to the peer, and how it is repaired. */
  readonly by: Fault | "away" | Trouble;
}

type Fault = Omit<FaultRule, "method" | "path" | "times">;

interface Trouble {
  readonly begin: (stage: Stage) => unknown;
  /** Where missing it cannot be made good. */
  readonly end?: (stage: Stage) => unknown;
}

/** Where one row of the table is played: the peers, and a connector with a clock of its own. */
export interface Stage {
  readonly peers: Peers;
  /** A connector of its own, which gets only the failures that a peer has for every caller. */
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly body: Body;
}

/** A peer as the table names it, and the calls of it that fail. */
export interface Step {
  readonly peer: string;
  readonly call: string;
  readonly at: {
    readonly peer: Exclude<keyof Peers, "vault" | "issuer" | "sink">;
    readonly method: string;
    /** A regular expression on the decoded path. */
    readonly path: string;
    /** How many such calls go well before. */
    readonly after?: number;
  };
  readonly failures: readonly Failure[];
}

/** A piece of work in which a peer is called. */
export interface Scene {
  /** Heading of its table. */
  readonly title: string;
  readonly body: () => Body;
  /** Brings the request to where the work begins; all goes well but what it breaks itself. */
  readonly before?: (stage: Stage) => Promise<void>;
  /** The work; returns the response to the caller. @param connector to whom the call fails */
  readonly act: (stage: Stage, connector: TestConnector) => Promise<string>;
  readonly steps: readonly Step[];
  /** What brings it to its end, where the jobs alone do not. */
  readonly after?: (stage: Stage) => Promise<void>;
  /** What the end must be, where a request is not to end as others do; answers what is wrong. */
  readonly wrong?: (stage: Stage) => Promise<readonly string[]>;
  /** Mails of a key's PIN, 1 where missing. */
  readonly mails?: readonly number[];
}
