import { createRequire } from "node:module";

/**
 * The part of `@azure/functions-core` that is used here. Only Azure's worker has that module, and no package has its
 * types.
 */
interface FunctionsCore {
  getProgrammingModel(): ProgrammingModel | undefined;
}

interface ProgrammingModel {
  getInvocationModel(context: InvocationContext): unknown;
}

interface InvocationContext {
  readonly request?: {
    readonly inputData?: readonly { readonly data?: { readonly http?: HttpInput | null } | null }[] | null;
  };
}

interface HttpInput {
  readonly nullableHeaders?: Readonly<Record<string, { value?: string | null } | null>> | null;
}

const repaired = new WeakSet<ProgrammingModel>();

/**
 * Replaces every header value by its UTF-8 bytes read as Latin-1 before `@azure/functions` (4.16.5) reads it. The host
 * gives values as Unicode text, and the library's `new Request` throws on a character above U+00FF: one such cookie
 * would make every call a 500 without a body. Call it after the first registration, which creates the programming
 * model. Later calls do nothing.
 */
export function acceptAnyHeaderValue(): void {
  const model = functionsCore()?.getProgrammingModel();
  if (model === undefined || repaired.has(model)) return;
  repaired.add(model);
  const original = model.getInvocationModel.bind(model);
  model.getInvocationModel = context => {
    for (const { data } of context.request?.inputData ?? []) {
      for (const header of Object.values(data?.http?.nullableHeaders ?? {})) {
        if (header?.value && !isAscii(header.value)) {
          header.value = Buffer.from(header.value, "utf8").toString("latin1");
        }
      }
    }
    return original(context);
  };
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

/** Returns undefined outside of a host, where the library registers nothing either. */
function functionsCore(): FunctionsCore | undefined {
  try {
    return createRequire(import.meta.url)("@azure/functions-core");
  } catch {
    return undefined;
  }
}
