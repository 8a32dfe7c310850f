/** Where something stands in its file. */
interface Placed {
  readonly line: number;
}

export type Expression = Placed &
  (
    | { readonly kind: "text"; readonly parts: readonly (string | Expression)[]; readonly multiLine: boolean }
    | { readonly kind: "literal"; readonly value: number | boolean | null }
    | { readonly kind: "array"; readonly items: readonly Expression[] }
    | ObjectExpression
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "member"; readonly of: Expression; readonly name: string; readonly safe: boolean }
    | { readonly kind: "index"; readonly of: Expression; readonly index: Expression }
    | { readonly kind: "nested"; readonly of: Expression; readonly name: string }
    | { readonly kind: "surely"; readonly of: Expression }
    | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] }
    | { readonly kind: "lambda"; readonly params: readonly string[]; readonly body: Expression }
    | { readonly kind: "unary"; readonly operator: string; readonly of: Expression }
    | { readonly kind: "binary"; readonly operator: string; readonly left: Expression; readonly right: Expression }
    | { readonly kind: "choice"; readonly condition: Expression; readonly yes: Expression; readonly no: Expression }
    | Loop
  );

export type ObjectExpression = Placed & {
  readonly kind: "object";
  readonly properties: readonly Property[];
  /** Resources that are declared inside a resource. */
  readonly resources: readonly Resource[];
};

export interface Property extends Placed {
  /** Text without a hole, or an expression that gives it. */
  readonly key: string | Expression;
  /** Whether the key stood in quotes. */
  readonly quoted: boolean;
  readonly value: Expression;
}

export type Loop = Placed & {
  readonly kind: "loop";
  readonly item: string;
  readonly position: string | undefined;
  readonly over: Expression;
  readonly body: Expression;
};

export type Type =
  | { readonly kind: "primitive"; readonly name: string }
  | { readonly kind: "value"; readonly value: string | number | boolean | null }
  | { readonly kind: "either"; readonly types: readonly Type[] }
  | { readonly kind: "list"; readonly of: Type }
  | { readonly kind: "maybe"; readonly of: Type }
  | { readonly kind: "named"; readonly name: string };

export interface Decorator extends Placed {
  readonly name: string;
  readonly args: readonly Expression[];
}

interface Declared extends Placed {
  readonly name: string;
  readonly decorators: readonly Decorator[];
}

export interface Param extends Declared {
  readonly kind: "param";
  readonly type: Type;
  readonly default: Expression | undefined;
}

export interface Variable extends Declared {
  readonly kind: "var";
  readonly value: Expression;
}

export interface Resource extends Declared {
  readonly kind: "resource";
  /** Type without version, as written: a nested resource names only its own last part. */
  readonly type: string;
  /** Empty where a nested resource takes its parent's. */
  readonly version: string;
  readonly existing: boolean;
  readonly condition: Expression | undefined;
  /** An object, or a loop that gives objects. */
  readonly body: Expression;
}

export interface Module extends Declared {
  readonly kind: "module";
  readonly path: string;
  readonly condition: Expression | undefined;
  readonly body: Expression;
}

export interface Output extends Declared {
  readonly kind: "output";
  readonly type: Type;
  readonly value: Expression;
}

export interface Statement extends Declared {
  readonly kind: "targetScope" | "metadata";
  readonly value: Expression;
}

export type Declaration = Param | Variable | Resource | Module | Output | Statement;

/** A parsed template. @param path from the folder of the templates */
export interface BicepFile {
  readonly path: string;
  readonly source: string;
  readonly declarations: readonly Declaration[];
}

/** What cannot be parsed or evaluated, with its place. */
export class BicepFault extends Error {
  override readonly name = "BicepFault";
}
