import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** For what gives no event, on a busy machine. */
export const patient = { timeout: 60_000 };

type Text = string | RegExp;

/**
 * Returns what the tests of the console do with its page. Each locator names the part of the page that has the element, so that it
 * matches one element however slowly the other parts load: Playwright refuses a locator that matches several. No part contains the
 * notes or the dialog.
 */
export function consoleOf(page: Page) {
  const main = page.getByRole("main");
  const note = page.locator("#outcome .outcome");
  const named = (of: Locator, name: string) => of.filter({ has: page.getByText(name, { exact: true }) });
  const button = (name: string, within: Locator = main) => within.getByRole("button", { name, exact: true });
  const heading = (name: string) => main.getByRole("heading", { level: 1, name, exact: true });
  const loaded = () => expect.poll(() => main.locator("[aria-busy=true]").count(), patient).toBe(0);
  return {
    main,
    note,
    button,
    heading,
    press: (name: string, within: Locator = main) => button(name, within).click(),
    field: (label: string, within: Locator = main) => within.getByLabel(label, { exact: true }),
    /** The card under a heading. */
    card: (title: Text) =>
      main.locator("section.card").filter({
        has: page.getByRole("heading", { level: 2, name: title, exact: typeof title === "string" }),
      }),
    /** The rows of a table with a text. */
    rows: (table: string, hasText: Text) =>
      main.getByRole("table", { name: table, exact: true }).getByRole("row").filter({ hasText }),
    /** The value beside a name. */
    fact: (name: string, within: Locator = main) =>
      named(within.locator("dl.facts > div"), name).getByRole("definition"),
    /** Does what makes a call, and waits until the note about it begins with a text. The note of an earlier call is closed first. */
    outcome: async (text: Text, act: () => Promise<void>): Promise<void> => {
      await page.evaluate("document.querySelector('#outcome .quiet')?.click()");
      await note.waitFor({ state: "detached" });
      await act();
      await note.locator("p").filter({ hasText: text }).waitFor();
    },
    /** Confirms the dialog that asks before something is deleted. */
    confirm: async (action: string): Promise<void> => {
      await button(action, page.getByRole("dialog")).click();
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    },
    /** Waits until a view is drawn with what it loads. */
    viewed: async (title: string): Promise<void> => {
      await heading(title).waitFor();
      await loaded();
    },
    /** Goes to another view of the same page, so that what the page has in memory stays. The former view does not count. */
    go: async (view: string, title: string): Promise<void> => {
      await main.locator(".view").evaluate(each => each.setAttribute("data-former", ""));
      await page.evaluate(`location.hash = "#/${view}"`);
      await main.locator(".view:not([data-former])").waitFor();
      await heading(title).waitFor();
      await loaded();
    },
  };
}
