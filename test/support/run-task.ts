import type { Task } from "../../lib/platform/http/task.ts";

/** Runs a maintenance task as its function does. Throws if the input is not as the task describes it. */
export async function runTask<D>(
  tasks: Readonly<Record<string, Task<D>>>,
  name: string,
  input: unknown,
  deps: D,
): Promise<Readonly<Record<string, unknown>>> {
  const task = tasks[name];
  if (task === undefined) throw new Error(`there is no task ${name}`);
  return { ...(await task.run(task.input.parse(input), deps)) };
}
