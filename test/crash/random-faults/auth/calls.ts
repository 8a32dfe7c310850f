import type { AuthResponse, TestAuth } from "../../../support/auth/test-auth.ts";
import type { Draw } from "../draw.ts";
import type { Faults } from "../faults.ts";
import type { Play } from "../play.ts";
import { ended, type Write } from "./history.ts";
import type { KnownOtpKey, World } from "./world.ts";

export interface Stage {
  readonly draw: Draw;
  readonly play: Play;
  readonly faults: Faults;
  readonly world: World;
  /** A host whose calls have no faults. */
  readonly sound: TestAuth;
  readonly hosts: readonly TestAuth[];
}

/** One step: its host, and an OTP key for it. */
export interface Step extends Stage {
  readonly host: TestAuth;
  readonly otpkey: KnownOtpKey;
}

/** Starts a call, and records its outcome for the values that it writes. */
export async function change(
  { play, world }: Pick<Step, "play" | "world">,
  what: string,
  call: () => Promise<AuthResponse>,
  writes: readonly (Write<unknown> | undefined)[],
  then: (response: AuthResponse) => unknown = () => undefined,
): Promise<void> {
  await play.start(what, async () => {
    const response = await call();
    const { status, body } = response;
    if (!expected.includes(status)) world.wrong.push(`${what}: ${status} ${JSON.stringify(body)}`);
    const outcome = status < 300 ? "done" : status === 503 ? "unknown" : "refused";
    ended(
      writes.filter(write => write !== undefined),
      outcome,
      world.moments.next(),
    );
    await then(response);
    return [status, body];
  });
}

const expected = [200, 201, 204, 401, 404, 409, 429, 503];
