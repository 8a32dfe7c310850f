import { decodeJwt } from "jose";
import * as z from "zod";

const entry = z.looseObject({ name: z.string(), value: z.unknown() });
const callback = z.looseObject({
  type: z.string(),
  output: z.array(entry).optional(),
  input: z.array(entry).optional(),
});

/** What a journey asks for, all of it: AM wants it back as it was, but for the inputs. */
export const step = z.looseObject({ authId: z.string().min(1), callbacks: z.array(callback).min(1) });
export type Step = z.output<typeof step>;
export type Callback = Step["callbacks"][number];

/** The end of a journey, with or without a session. */
export const end = z
  .object({ tokenId: z.string(), successUrl: z.string(), realm: z.string() })
  .partial()
  .refine(told => Object.keys(told).length > 0)
  .transform(() => undefined);

/** Where an answer belongs in a step. */
export interface Field {
  /** Type of the callback. */
  readonly type: string;
  /** Name of its input. Pages renumber these, so it decides only where several callbacks are of the type. */
  readonly tokenId: string;
  /** The `id` that the callback itself tells; it goes before the name. */
  readonly id?: string;
}

/** The step with an answer put in; undefined where it does not ask for it. */
export function answered(of: Step, field: Field, value: string): Step | undefined {
  const fitting = of.callbacks.flatMap(asked => {
    const { type, input = [] } = asked;
    return type === field.type && input.length > 0 ? [{ asked, input }] : [];
  });
  const target =
    fitting.find(({ asked }) => field.id !== undefined && outputOf(asked, "id") === field.id) ??
    fitting.find(({ input }) => input.some(named(field.tokenId))) ??
    (fitting.length === 1 ? fitting[0] : undefined);
  if (target === undefined) return undefined;
  const at = Math.max(target.input.findIndex(named(field.tokenId)), 0);
  const input = target.input.map((each, index) => (index === at ? { ...each, value } : each));
  return { ...of, callbacks: of.callbacks.map(each => (each === target.asked ? { ...each, input } : each)) };
}

const named = (tokenId: string) => (input: { readonly name: string }) => input.name === tokenId;

export const outputOf = ({ output }: Callback, wanted: string): unknown =>
  output?.find(({ name }) => name === wanted)?.value;

/** For messages: the types of callbacks that a step has. */
export const typesOf = ({ callbacks }: Step): string => callbacks.map(({ type }) => type).join(", ");

/** When AM stops taking the step, which its `authId` tells; undefined where that is not readable. */
export function endOf({ authId }: Step): Date | undefined {
  try {
    const { exp } = decodeJwt(authId);
    return exp === undefined ? undefined : new Date(exp * 1000);
  } catch {
    return undefined;
  }
}
