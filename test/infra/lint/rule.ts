import type { BicepFile } from "../bicep/ast.ts";

/** A rule of the compiler or its linter, or of ours. Gives a sentence, with the line in front, for each place that breaks it. */
export type Rule = (file: BicepFile) => readonly string[];

/** A sentence with its place. */
export const at = ({ line }: { readonly line: number }, sentence: string): string => `${line}: ${sentence}`;
