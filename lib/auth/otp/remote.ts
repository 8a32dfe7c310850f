import type { RemoteKind } from "./contract.ts";
import { draftProblems } from "./draft.ts";

/** Codes that validation servers check, because they hold the key's secret and we do not (decision A7). */
export const remote: RemoteKind = {
  checked: "elsewhere",
  forms: [{ length: 32, alphabet: "modhex" }],
  prepare(draft) {
    const problems = draftProblems(draft, {
      secret: "absent",
      privateId: "absent",
      digits: "absent",
      counter: "absent",
    });
    return problems.length > 0 ? { ok: false, problems } : { ok: true, form: { state: { counter: 0 } } };
  },
  async ask(otp, { validation }) {
    return (
      (await validation?.validate(otp)) ?? { outcome: "unavailable", detail: "no validation server is configured" }
    );
  },
};
