import type { AuthResponse, TestAuth } from "../../../support/auth/test-auth.ts";
import type { Faults } from "../faults.ts";
import type { Random } from "../random.ts";
import type { RandomRun } from "../random-run.ts";
import { endWrites, type Write } from "./history.ts";
import type { KnownOtpKey, KnownState } from "./known-state.ts";

export interface StepContext {
  readonly random: Random;
  readonly run: RandomRun;
  readonly faults: Faults;
  readonly known: KnownState;
  /** A host whose calls have no faults. */
  readonly healthyHost: TestAuth;
  readonly hosts: readonly TestAuth[];
}

/** One step: its host, and an OTP key for it. */
export interface Step extends StepContext {
  readonly host: TestAuth;
  readonly otpkey: KnownOtpKey;
}

/** Starts a call and records its outcome in `writes`. A 503 leaves the outcome unknown; after any other refusal nothing was written. */
export async function startCall(
  { run, known }: Pick<Step, "run" | "known">,
  what: string,
  call: () => Promise<AuthResponse>,
  writes: readonly (Write<unknown> | undefined)[],
  onResponse: (response: AuthResponse) => unknown = () => undefined,
): Promise<void> {
  await run.start(what, async () => {
    const response = await call();
    const { status, body } = response;
    if (!expectedStatuses.includes(status)) known.wrong.push(`${what}: ${status} ${JSON.stringify(body)}`);
    const outcome = status < 300 ? "done" : status === 503 ? "unknown" : "refused";
    endWrites(
      writes.filter(write => write !== undefined),
      outcome,
      known.clock.next(),
    );
    await onResponse(response);
    return [status, body];
  });
}

const expectedStatuses = [200, 201, 204, 401, 404, 409, 429, 503];
