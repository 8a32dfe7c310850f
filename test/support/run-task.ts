import { expect } from "vitest";
import type { Task } from "../../lib/platform/http/task.ts";

/** Runs a maintenance task as its function does. Throws if the input or the report is not as the task describes it. */
export async function runTask<D>(
  tasks: Readonly<Record<string, Task<D>>>,
  name: string,
  input: unknown,
  deps: D,
): Promise<Readonly<Record<string, unknown>>> {
  const task = tasks[name];
  if (task === undefined) throw new Error(`there is no task ${name}`);
  const report = await task.run(task.input.parse(input), deps);
  expectReport(task, report);
  return report;
}

/** The schema drops a field that it does not describe, so what it returns must be all of the report. */
export const expectReport = ({ report: schema }: Pick<Task<never>, "report">, report: unknown): void =>
  expect(schema.parse(report)).toEqual(report);
