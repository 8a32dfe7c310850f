import type { RemoteKind } from "./contract.ts";
import { draftProblems } from "./draft-problems.ts";

/** OTPs that validation servers check, because only they have the OTP key's secret (A7). */
export const remote: RemoteKind = {
  checkedBy: "validation-server",
  codeFormats: [{ length: 32, alphabet: "modhex" }],
  prepare(draft) {
    const problems = draftProblems(draft, {
      secret: "absent",
      privateId: "absent",
      digits: "absent",
      period: "absent",
      algorithm: "absent",
      counter: "absent",
      drift: "absent",
    });
    return problems.length > 0 ? { ok: false, problems } : { ok: true, parameters: { state: { counter: 0 } } };
  },
  async query(otp, { validation }) {
    return (
      (await validation?.validate(otp)) ?? { outcome: "unavailable", detail: "no validation server is configured" }
    );
  },
};
