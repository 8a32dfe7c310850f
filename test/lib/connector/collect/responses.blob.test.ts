import { beforeAll, describe, expect, test } from "vitest";
import {
  type ResponseStore,
  responseBlobs,
  responsesContainer,
} from "../../../../lib/connector/collect/responses.blob.ts";
import { type Blobs, openBlobs } from "../../../../lib/platform/azure/blobs.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const { connectionString } = freshStorage();
let blobs: Blobs;
let responses: ResponseStore;

beforeAll(async () => {
  blobs = openBlobs({ connectionString, timeoutMs: 20_000 });
  await blobs.createContainer(responsesContainer);
  responses = responseBlobs(blobs);
});

describe("the responses of a key", () => {
  test("come back as they came, by the name that the row keeps, however large they are", async () => {
    const response = { serial: "12", firmware: "5.7.4", credentials: ["a".repeat(100_000), ""], pinResponse: "p" };
    const name = await responses.put("request", "s-01-001", response);
    expect(await responses.get(name)).toEqual(response);
    const few = { credentials: ["b"] };
    const other = await responses.put("request", "s-02-001", few);
    expect(other).not.toBe(name);
    expect(await responses.get(other)).toEqual(few);
  });

  test("stay as they are beside later ones", async () => {
    const first = { serial: "1", credentials: ["a"], pinResponse: "p" };
    const name = await responses.put("again", "s-01-001", first);
    const later = await responses.put("again", "s-01-001", { credentials: ["a", "b"] });
    expect(await responses.get(later)).toEqual({ credentials: ["a", "b"] });
    expect(await responses.get(name)).toEqual(first);
  });

  test("are gone with the earlier ones when they are removed, which may be done twice, and no other key's are", async () => {
    const names = [
      await responses.put("gone", "s-01-001", { credentials: [] }),
      await responses.put("gone", "s-01-001", { credentials: ["a"] }),
    ];
    const other = await responses.put("gone", "s-01-002", { credentials: [] });
    await responses.removeOf("gone", "s-01-001");
    await responses.removeOf("gone", "s-01-001");
    for (const name of names) expect(await responses.get(name)).toBeUndefined();
    expect(await responses.get(other)).toEqual({ credentials: [] });
  });

  test("that are no such thing are not believed", async () => {
    await blobs.put(responsesContainer, "bad", '{"credentials":"x"}');
    await expect(responses.get("bad")).rejects.toThrow();
  });
});
