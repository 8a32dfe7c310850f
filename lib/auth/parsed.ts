/** A parsed value, or the reason why the text is invalid: the rest of a sentence that begins with the field's name. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const accepted = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const refused = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });
