import { describe, expect, test } from "vitest";

import {
  customColumns,
  renderJsonPath,
} from "../../../../../cmd/kubectl/output/jsonpath-template.ts";
import { relaxedPath, sortedBy } from "../../../../../cmd/kubectl/output/jsonpath.ts";
import { renderTable } from "../../../../../cmd/kubectl/output/table.ts";

// The document and most of the rows are those of kubectl's own documentation of its templates.
const document = {
  kind: "List",
  items: [
    {
      kind: "None",
      metadata: { name: "127.0.0.1", labels: { "kubernetes.io/hostname": "127.0.0.1" } },
      status: {
        capacity: { cpu: "4" },
        addresses: [{ type: "LegacyHostIP", address: "127.0.0.1" }],
      },
      weight: 10,
    },
    {
      kind: "None",
      metadata: { name: "127.0.0.2" },
      status: {
        capacity: { cpu: "8" },
        addresses: [
          { type: "LegacyHostIP", address: "127.0.0.2" },
          { type: "another", address: "127.0.0.3" },
        ],
      },
      weight: 9,
      note: null,
    },
  ],
  users: [
    { name: "myself", user: {} },
    { name: "e2e", user: { username: "admin", password: "secret" } },
  ],
};

describe("a template of kubectl", () => {
  test.each([
    ["text", "text"],
    ["{.kind}", "List"],
    ["{['kind']}", "List"],
    ["{$.kind}", "List"],
    ["{@.kind}", "List"],
    ["{.nothing}", ""],
    ["{..name}", "127.0.0.1 127.0.0.2 myself e2e"],
    ["{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"],
    ["{.items[*]['metadata.name', 'kind']}", "127.0.0.1 127.0.0.2 None None"],
    ['{.users[?(@.name=="e2e")].user.password}', "secret"],
    [`{.items[0].metadata.labels.kubernetes\\.io/hostname}`, "127.0.0.1"],
    ["{.items[0].metadata.labels['kubernetes\\.io/hostname']}", "127.0.0.1"],
    ["{.items[0].metadata.labels['kubernetes.io/hostname']}", ""],
    ["{.items[?(@['metadata.name']=='127.0.0.2')].weight}", "9"],
    [
      "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
      '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
    ],
    ['{range .items[*]}{.metadata.name}{"\\n"}{end}', "127.0.0.1\n127.0.0.2\n"],
    [
      "{range .items[*]}{range .status.addresses[*]}{.type};{end}{end}",
      "LegacyHostIP;LegacyHostIP;another;",
    ],
    ["{.items[-1].metadata.name}", "127.0.0.2"],
    ["{.items[0:1].metadata.name}", "127.0.0.1"],
    ["{.items[0,1].weight}", "10 9"],
    ["{.items[::2].weight}", "10"],
    ["{.items[?(@.weight>9)].metadata.name}", "127.0.0.1"],
    ["{.items[?(@.note)].metadata.name}", "127.0.0.2"],
    ["{.items[1].note}", ""],
    ["{.items[7]}", ""],
    ['{"a}b"}', "a}b"],
    ['{.kind "-" .users[0].name}', "List-myself"],
    ["{.items..cpu}", "4 8"],
    ["{.constructor}", ""],
  ])("%s prints %j", (template, text) => {
    expect(renderJsonPath(document, template, "jsonpath")).toBe(text);
  });

  test("prints the values as a JSON array when asked to", () => {
    const text = renderJsonPath(document, "{.items[*].weight}", "jsonpath-as-json");
    expect(JSON.parse(text)).toEqual([10, 9]);
  });

  test.each([
    "{.a",
    "{range .a}",
    "{end}",
    "{.a[}",
    "{.a[x]}",
    '{.a["x"]}',
    "{.a['x,y']}",
    "{.a[?(@.b==c)]}",
    '{"a}',
    "{.a b(}",
  ])("%s is refused and quoted", (template) => {
    expect(() => renderJsonPath(document, template, "jsonpath")).toThrow(/Invalid JSONPath/);
  });
});

describe("fields of items", () => {
  test.each([".metadata.name", "metadata.name", "{.metadata.name}", "{metadata.name}"])(
    "%s sorts",
    (path) => {
      const { items } = sortedBy({ items: document.items.toReversed() }, path);
      expect(items).toEqual(document.items);
    },
  );

  test("sort numbers as numbers and put what has no such field first", () => {
    const items = [{ n: 10 }, { n: 9 }, {}];
    expect(sortedBy({ items }, ".n").items).toEqual([{}, { n: 9 }, { n: 10 }]);
    expect(sortedBy({ items }, undefined).items).toBe(items);
  });

  test("are columns, <none> where there is nothing", () => {
    expect(
      customColumns("NAME:.metadata.name,NOTE:note,ALL:.status.addresses[*].type", document.items),
    ).toEqual({
      headers: ["NAME", "NOTE", "ALL"],
      rows: [
        ["127.0.0.1", "<none>", "LegacyHostIP"],
        ["127.0.0.2", "<none>", "LegacyHostIP,another"],
      ],
    });
  });

  test("without headers are rows alone, and find the name where kubectl has it", () => {
    const table = customColumns(":.metadata.name", [{ name: "a" }, { name: "b" }]);
    expect(renderTable(table, { headers: true, paint: (text) => text })).toBe("a\nb\n");
  });

  test("need a path", () => expect(() => relaxedPath("{}")).toThrow(/there is no field/));
});
