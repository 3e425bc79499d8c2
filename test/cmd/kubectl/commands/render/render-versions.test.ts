import { expect, test } from "vitest";

import { diffComponents } from "../../../../../cmd/kubectl/commands/render/render.ts";
import { serving } from "../../../../render/components.ts";

const read = () => Promise.reject(new Error("there is no file to read"));

test("a component is compared with any version, whichever is installed", async () => {
  const component = { ...serving({ version: "1.23" }), status: { version: "1.23.0" } };
  const found = await diffComponents("1.20", [{ where: "here", component }], read);
  expect(found).toEqual({
    isVersion: true,
    components: [{ where: "here", component: serving({ version: "1.20" }) }],
  });
});
