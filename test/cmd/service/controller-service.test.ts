import { expect, test } from "vitest";

import { settingsOf } from "../../../cmd/service/controller-service.ts";
import { readControllerFlags } from "../../../cmd/service/flags.ts";

test("the servers that checks may ask do not take the place of what asks them", () => {
  const flags = readControllerFlags(["--check-source=https://gate.example"], "0.0.0");
  if ("exitCode" in flags) throw new Error(flags.text);
  expect(flags.checkSource).toHaveLength(1);
  expect(settingsOf(flags)).not.toHaveProperty("checkSource");
});
