import { enveloped, type Outcome } from "../../../commands/console/calls.ts";
import type { HttpAnswer } from "../../../commands/http-exchange.ts";
import { withControlBody } from "../../peers/control.ts";
import { newSoftwareKey, type SoftwareKey, type SoftwareKeys } from "./software-keys.ts";

/** Imports a key by the Core API (decision A10). */
export type ImportKey = (fields: Readonly<Record<string, string>>) => Promise<Outcome>;

/** Handles the page's calls about its software keys. No response contains a secret. */
export function softwareKeyRoutes(
  keys: SoftwareKeys,
  importKey: ImportKey,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: Buffer },
): HttpAnswer | undefined | Promise<HttpAnswer> {
  const [, prefix = "", action = ""] = /^\/([a-z0-9]{1,32})(\/next)?$/.exec(path) ?? [];
  switch (`${method} ${prefix === "" ? path : `/key${action}`}`) {
    case "GET ":
      return { status: 200, body: keys.all().map(({ prefix, kind, digits }) => ({ prefix, kind, digits })) };
    case "POST ":
      return withControlBody(newSoftwareKey, body, fields => {
        const key = keys.draft(fields);
        return enveloped("The host", method, async () => {
          const outcome = await importKey(importFields(key));
          if (outcome.status === 201) keys.keep(key);
          return outcome;
        });
      });
    case "POST /key/next": {
      const shown = keys.next(prefix);
      return shown === undefined
        ? { status: 404, body: { error: `There is no software key ${prefix}.` } }
        : { status: 200, body: shown };
    }
    case "DELETE /key":
      keys.remove(prefix);
      return { status: 204 };
    default:
      return undefined;
  }
}

const importFields = ({
  prefix,
  kind,
  secret,
  privateId,
  digits,
  period,
  algorithm,
}: SoftwareKey): Record<string, string> => ({
  prefix,
  kind,
  secret,
  ...(period && { period: String(period) }),
  ...(algorithm && { algorithm }),
  ...(privateId === undefined ? { digits: String(digits) } : { private_id: privateId }),
});
