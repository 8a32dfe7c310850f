/** `garbage`: not a JWE. `swapped`: every response at the position of another credential. */
export const SABOTAGES = ["wrong-signature", "wrong-key", "other-request", "garbage", "swapped"] as const;
export type Sabotage = (typeof SABOTAGES)[number];

/** A sabotage for which a key is programmed again. */
export type WrongAnswer = Exclude<Sabotage, "garbage" | "swapped">;

/** The encrypted responses of one key. A credential that could not be created has none. */
export interface KeyResponses {
  readonly credentials: readonly (string | null)[];
  readonly pin?: string | undefined;
}

/** Returns responses that are wrong in one way. @param reprogram returns wrong responses of the key at a position */
export async function sabotaged(
  keys: readonly KeyResponses[],
  sabotage: Sabotage | undefined,
  reprogram: (at: number, wrong: WrongAnswer) => Promise<KeyResponses>,
): Promise<readonly KeyResponses[]> {
  switch (sabotage) {
    case undefined:
      return keys;
    case "garbage":
      return replaced(keys, () => "garbage");
    case "swapped": {
      const pins = rotated(keys.map(({ pin }) => pin));
      const credentials = rotated(keys.flatMap(key => key.credentials));
      return replaced(keys, kind => (kind === "pin" ? pins : credentials).shift() ?? "");
    }
    default:
      return Promise.all(keys.map((_, at) => reprogram(at, sabotage)));
  }
}

const replaced = (keys: readonly KeyResponses[], response: (kind: "pin" | "credential") => string) =>
  keys.map(({ credentials, pin }) => ({
    credentials: credentials.map(honest => honest && response("credential")),
    pin: pin && response("pin"),
  }));

const rotated = (values: readonly (string | null | undefined)[]): string[] => {
  const [first = [], ...others] = values.flatMap(value => value ?? []);
  return others.concat(first);
};
