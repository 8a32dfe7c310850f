import { singleFlight } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import type { Log } from "../../platform/log.ts";
import { type Instant, type Now, plus } from "../../platform/time.ts";
import type { Idp } from "./contract.ts";
import type { IdpConfigurations, IdpSettings } from "./kinds.ts";

/** A file that may change while the app runs. */
interface IdpFile {
  /** Returns undefined if the file does not exist. Must end by itself. */
  read(): Promise<Uint8Array | undefined>;
  readonly maxAgeMs: number;
  /** The wait after a failed read. */
  readonly retryAfterMs: number;
}

interface ConfiguredIdpsOptions {
  readonly defaultId: string;
  /** The hosts to which secrets may be sent. */
  readonly secretHosts: readonly string[];
  /** The configuration at the start; undefined if the file has not been read yet. */
  readonly known?: IdpConfigurations | undefined;
  /** Absent if the configuration cannot change. */
  readonly file?: IdpFile | undefined;
  readonly connect: (id: string, settings: IdpSettings) => Idp;
  readonly now: Now;
  readonly log: Log;
}

interface Configured {
  /** The settings as text, to find out whether they have changed. */
  readonly text: string;
  readonly settings: IdpSettings;
  readonly idp: Idp;
}

/**
 * Creates the clients of the IdPs, by the last valid configuration that was read, without any call. A client whose
 * settings do not change keeps its access token.
 */
export function configuredIdps({ defaultId, secretHosts, known, file, connect, now, log }: ConfiguredIdpsOptions) {
  let current: ReadonlyMap<string, Configured> | undefined;
  let nextReadAt: Instant | undefined;

  const use = (idps: IdpConfigurations) => {
    const before = current;
    current = new Map(
      [...idps].map(([id, settings]) => {
        const text = JSON.stringify(settings);
        const same = before?.get(id);
        if (same?.text === text) return [id, same];
        return [id, { text, settings, idp: connect(id, settings) }];
      }),
    );
  };
  if (known !== undefined) use(known);
  if (file !== undefined) nextReadAt = known === undefined ? now() : plus(now(), file.maxAgeMs);

  const reread = async ({ read, maxAgeMs, retryAfterMs }: IdpFile) => {
    const startedAt = now();
    const kept = current !== undefined;
    try {
      const bytes = await read();
      nextReadAt = plus(startedAt, kept ? maxAgeMs : retryAfterMs);
      const { readIdpFile } = await import("./idp-file.ts");
      const { idps, problems } = bytes === undefined ? noFile : readIdpFile(bytes, defaultId, secretHosts);
      if (idps === undefined) {
        log.error("bad_idp_configuration", { problems, kept });
        return;
      }
      nextReadAt = plus(startedAt, maxAgeMs);
      use(idps);
    } catch (error) {
      nextReadAt = plus(startedAt, retryAfterMs);
      log[kept ? "warn" : "error"]("idp_configuration_unread", { kept, error });
    }
  };
  const rereadIfDue = singleFlight(async () => {
    if (file !== undefined && nextReadAt !== undefined && now() >= nextReadAt) await reread(file);
  });

  return {
    defaultId,
    get: (id: string): Idp | undefined => current?.get(id)?.idp,
    /** Returns the settings of all IdPs, for status. */
    settings: (): IdpConfigurations => new Map([...(current ?? [])].map(([id, { settings }]) => [id, settings])),
    /**
     * Reads the file again if it is too old. Every call and job awaits this first. If the file cannot be read or is
     * invalid, the last valid configuration stays in use and the problem is logged. Throws Fault `unavailable` until
     * there is a valid one.
     */
    ready: async () => {
      await rereadIfDue();
      if (current === undefined)
        throw new Fault("unavailable", "The service is not configured.", { retryAfterSeconds: 10 });
    },
  };
}

const noFile = { idps: undefined, problems: [{ path: "IDP_CONFIGURATION_PATH", reason: "does not exist" }] };
