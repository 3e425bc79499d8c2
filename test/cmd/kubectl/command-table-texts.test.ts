import { describe, expect, test } from "vitest";

import { commandTable } from "../../../cmd/kubectl/command-table.ts";

describe("every command", () => {
  test.each(commandTable())(
    "$name has a summary, a text and examples that begin with it",
    (entry) => {
      expect(entry.summary).toMatch(/^[A-Z].*[^.]$/);
      expect(entry.text).not.toBe("");
      expect(entry.examples.length).toBeGreaterThan(0);
      for (const [line] of entry.examples) expect(line).toContain(`kubectl knfleet ${entry.name}`);
    },
  );
});
