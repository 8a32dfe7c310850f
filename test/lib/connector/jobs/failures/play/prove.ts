import { afterAll, describe, expect, test } from "vitest";
import type { Scene } from "../stage.ts";
import { readPart, tables, writePart } from "./document.ts";
import { createLanes } from "./lane.ts";
import { play, type Row } from "./play.ts";

/** Defines the tests of one part of docs/failures.md: one for each failure of each call, and one that holds the document to them. */
export function prove(part: string, scenes: readonly Scene[]): void {
  const lanes = createLanes();
  afterAll(() => lanes.close());
  const cases = scenes.flatMap(scene =>
    scene.steps.flatMap(step => step.failures.map(failure => ({ scene, step, failure }))),
  );
  const proven = new Map<(typeof cases)[number], Row>();

  describe.concurrent.each(cases.map(each => [nameOf(each), each] as const))("%s", (_, each) => {
    test("leaves nothing lost, done twice or stuck", async () => {
      const { row, wrong } = await lanes.during(each.scene.body(), stage => play(stage, each));
      proven.set(each, row);
      expect(wrong).toEqual([]);
    });
  });

  test(`docs/failures.md has the table of what was proven: ${part}`, () => {
    const rowsOf = (scene: Scene) => cases.filter(each => each.scene === scene).flatMap(each => proven.get(each) ?? []);
    const titles = [...Map.groupBy(scenes, ({ title }) => title)];
    const written = tables(titles.map(([title, of]) => ({ title, rows: of.flatMap(rowsOf) })));
    if (process.env.WRITE_FAILURES !== undefined) writePart(part, written);
    expect(readPart(part)).toBe(written.trim());
  });
}

const nameOf = ({
  scene,
  step,
  failure,
}: {
  scene: Scene;
  step: { peer: string; call: string };
  failure: { name: string };
}) => `${scene.title}: ${step.peer}, ${step.call}: ${failure.name}`;
