import { expect, test } from "vitest";
import { newRequestId } from "../../../../../../lib/connector/create/create-request.ts";
import { days } from "../../../../../../lib/platform/time.ts";
import { everyIdpOfFile } from "../../../../../support/connector/in-a-state.ts";
import { peersOfFile, testConnector } from "../../../../../support/connector/test-connector.ts";
import type { Scene } from "../stage.ts";
import { readPart, tables, writePart } from "./document.ts";
import { play, type Row } from "./play.ts";

/** Defines the tests of one part of docs/failures.md: one for each failure of each call, and one that holds the document to them. */
export async function prove(part: string, scenes: readonly Scene[]): Promise<void> {
  const peers = await peersOfFile();
  const settings = everyIdpOfFile(peers);
  const { storage } = await testConnector(peers);
  const cases = scenes.flatMap(scene =>
    scene.steps.flatMap(step => step.failures.map(failure => ({ scene, step, failure }))),
  );
  const proven = new Map<(typeof cases)[number], Row>();

  test.each(cases.map(each => [nameOf(each), each] as const))(
    "%s: nothing is lost, done twice or stuck",
    async (_, each) => {
      // Half a day of looking-up shows what three do.
      const connector = await testConnector(peers, { storage, settings, limits: { reconcileForMs: days(0.5) } });
      const requestId = newRequestId(connector.context.random);
      const { row, wrong } = await play({ peers, connector, requestId, body: each.scene.body() }, each);
      proven.set(each, row);
      expect(wrong).toEqual([]);
    },
  );

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
