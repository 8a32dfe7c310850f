import type { Failure, Scene, Stage, Step } from "../stage.ts";
import { heal } from "./heal.ts";
import { brokenJobs, stuck, wrongInTheEnd } from "./invariants.ts";
import { type Shown, shown } from "./reading.ts";
import { recover, strike } from "./strike.ts";

/** What one failure of one call came to. */
export interface Row extends Shown {
  readonly peer: string;
  readonly call: string;
  readonly failure: string;
  /** What the caller of the work got; empty for jobs. */
  readonly answer: string;
  /** State and message in the end, the peer being well again. */
  readonly end: string;
}

/** Lets one call fail in one way, then the peer be well again and the jobs run. @returns also what must not be */
export async function play(
  stage: Stage,
  { scene, step, failure }: { scene: Scene; step: Step; failure: Failure },
): Promise<{ readonly row: Row; readonly wrong: readonly string[] }> {
  const { connector, requestId } = stage;
  const { requests } = connector.context;
  await scene.before?.(stage);
  const failing = connector.anotherInstance(await strike(stage, step, failure));
  const answer = await scene.act(stage, failing);
  const then = await requests.load(requestId);
  const row = { peer: step.peer, call: step.call, failure: failure.name, answer, ...shown(then, connector.now()) };
  const wrong = [...(await stuck(stage, then)), ...brokenJobs(failing)];
  await recover(stage, step, failure);
  await scene.after?.(stage);
  const healed = await heal(stage);
  const { state, message } = shown(healed, connector.now());
  return {
    row: { ...row, end: message === "" ? state : `${state}: ${message}` },
    wrong: [...wrong, ...(await (scene.wrong?.(stage) ?? wrongInTheEnd(stage, healed, scene.mails ?? [1])))],
  };
}
