import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import { type Instant, type Now, plus } from "../../time.ts";
import { singleFlight } from "../http/single-flight.ts";
import type { Idp } from "./contract.ts";
import { readIdpFile } from "./idp-file.ts";
import type { IdpConfigurations, IdpSettings } from "./kinds.ts";

/** The IdPs of a deployment, as of the last good reading of what configures them (decision C13). */
export interface ConfiguredIdps {
  readonly defaultId: string;
  get(id: string): Idp | undefined;
  /** Their settings, for the status answers. */
  settings(): IdpConfigurations;
  /**
   * Reads again what is too old; to be awaited before a call or a job begins its work. A reading that fails or is no good leaves
   * the last good one in place and is told in the log. Throws Fault `unavailable` while there never was a good one.
   */
  ready(): Promise<void>;
}

/** A file that changes while the app runs. */
export interface IdpFile {
  /** Undefined where there is none. Ends by itself. */
  read(): Promise<Uint8Array | undefined>;
  readonly maxAgeMs: number;
  /** The pause after a reading that failed. */
  readonly retryAfterMs: number;
}

export interface ConfiguredIdpsOptions {
  readonly defaultId: string;
  /** Where secrets may be sent. */
  readonly secretHosts: readonly string[];
  /** What is known at the start; nothing where the file is yet to be read. */
  readonly known?: IdpConfigurations | undefined;
  /** Absent where nothing can change. */
  readonly file?: IdpFile | undefined;
  readonly connect: (id: string, settings: IdpSettings) => Idp;
  readonly now: Now;
  readonly log: Log;
}

interface Configured {
  /** Equal where nothing has changed. */
  readonly text: string;
  readonly settings: IdpSettings;
  readonly idp: Idp;
}

/** Connects the IdPs; none is called yet. One whose settings stay the same keeps its access token over a new reading. */
export function configuredIdps(options: ConfiguredIdpsOptions): ConfiguredIdps {
  const { defaultId, secretHosts, known, file, connect, now, log } = options;
  let current: ReadonlyMap<string, Configured> | undefined;
  let due: Instant | undefined;

  const take = (idps: IdpConfigurations) => {
    const before = current;
    current = new Map(
      [...idps].map(([id, settings]) => {
        const text = JSON.stringify(settings);
        const same = before?.get(id);
        return [id, same?.text === text ? same : { text, settings, idp: connect(id, settings) }];
      }),
    );
  };
  if (known !== undefined) take(known);
  if (file !== undefined) due = known === undefined ? now() : plus(now(), file.maxAgeMs);

  const readAgain = async ({ read, maxAgeMs, retryAfterMs }: IdpFile) => {
    const begun = now();
    const kept = current !== undefined;
    try {
      const bytes = await read();
      due = plus(begun, kept ? maxAgeMs : retryAfterMs);
      const { idps, problems } = bytes === undefined ? noFile : readIdpFile(bytes, defaultId, secretHosts);
      if (idps === undefined) {
        log.error("bad_idp_configuration", { problems, kept });
        return;
      }
      due = plus(begun, maxAgeMs);
      take(idps);
    } catch (error) {
      due = plus(begun, retryAfterMs);
      log[kept ? "warn" : "error"]("idp_configuration_unread", { kept, error });
    }
  };
  const read = singleFlight(async () => {
    if (file !== undefined && due !== undefined && now() >= due) await readAgain(file);
  });

  return {
    defaultId,
    get: id => current?.get(id)?.idp,
    settings: () => new Map([...(current ?? [])].map(([id, { settings }]) => [id, settings])),
    ready: async () => {
      await read();
      if (current === undefined) throw new Fault("unavailable", "The service is not configured.", { retryAfter: 10 });
    },
  };
}

const noFile = { idps: undefined, problems: [{ path: "IDP_CONFIGURATION_PATH", reason: "is not there" }] };
