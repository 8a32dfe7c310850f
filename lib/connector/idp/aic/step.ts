import { decodeJwt } from "jose";
import * as z from "zod";

/** A step of a journey. AM expects it back unchanged except for the inputs, so unknown members are kept. */
export const step = z.lazy(() => {
  const entries = z.array(z.looseObject({ name: z.string(), value: z.unknown() })).optional();
  const callback = z.looseObject({ type: z.string(), output: entries, input: entries });
  return z.looseObject({ authId: z.string().min(1), callbacks: z.array(callback).min(1) });
});
export type JourneyStep = z.output<typeof step>;
type Callback = JourneyStep["callbacks"][number];

/** The end of a journey, with or without a session. */
export const end = z.lazy(() =>
  z
    .object({ tokenId: z.string(), successUrl: z.string(), realm: z.string() })
    .partial()
    .refine(members => Object.keys(members).length > 0)
    .transform(() => undefined),
);

/** The input of a step that gets a value. */
interface Field {
  /** The type of the callback. */
  readonly type: string;
  /** The name of the input. Pages renumber inputs, so the name decides only if several callbacks have the type. */
  readonly tokenId: string;
  /** The `id` in the callback's output. It has priority over the name of the input. */
  readonly id?: string;
}

/** Returns the step with a value in one of its inputs; undefined if the step does not have that input. */
export function fillIn(of: JourneyStep, field: Field, value: string): JourneyStep | undefined {
  const candidates = of.callbacks.flatMap(callback => {
    const { type, input = [] } = callback;
    return type === field.type && input.length > 0 ? [{ callback, input }] : [];
  });
  const target =
    candidates.find(({ callback }) => field.id !== undefined && outputOf(callback, "id") === field.id) ??
    candidates.find(({ input }) => input.some(named(field.tokenId))) ??
    (candidates.length === 1 ? candidates[0] : undefined);
  if (target === undefined) return undefined;
  const at = Math.max(target.input.findIndex(named(field.tokenId)), 0);
  const input = target.input.map((each, index) => (index === at ? { ...each, value } : each));
  return { ...of, callbacks: of.callbacks.map(each => (each === target.callback ? { ...each, input } : each)) };
}

const named = (tokenId: string) => (input: { readonly name: string }) => input.name === tokenId;

/** Returns the value of an output of a callback. */
export const outputOf = ({ output }: Callback, wanted: string): unknown =>
  output?.find(({ name }) => name === wanted)?.value;

/** Returns the types of a step's callbacks, for messages. */
export const typesOf = ({ callbacks }: JourneyStep): string => callbacks.map(({ type }) => type).join(", ");

/** Seconds since 1970, up to the year 9999: the text of a later time does not sort. */
const expiry = z.number().min(0).max(253_402_300_799);

/** Returns the time until which AM accepts the step, from its `authId`; undefined if that is not readable. */
export function endOf({ authId }: JourneyStep): Date | undefined {
  try {
    return new Date(expiry.parse(decodeJwt(authId).exp) * 1000);
  } catch {
    return undefined;
  }
}
