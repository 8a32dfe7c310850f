import { beforeEach, expect, test, vi } from "vitest";
import { printTable } from "../../commands/operator-command.ts";

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
});

const columns = ["ID", "REFERENCE", "USERS"];
const rows = [
  ["1", undefined, "ada@example.com"],
  ["2", "REQ0012345", "grace@example.com"],
];

test.each([[undefined], [33]])("a table that fits into %s columns has a line for each row", width => {
  printTable(columns, rows, width);
  expect(lines).toEqual([
    "ID  REFERENCE   USERS",
    "1   -           ada@example.com",
    "2   REQ0012345  grace@example.com",
  ]);
});

test("a table that is wider than the terminal has a block for each row, without empty cells", () => {
  printTable(columns, rows, 32);
  expect(lines).toEqual([
    "ID     1",
    "USERS  ada@example.com",
    "",
    "ID         2",
    "REFERENCE  REQ0012345",
    "USERS      grace@example.com",
  ]);
});
