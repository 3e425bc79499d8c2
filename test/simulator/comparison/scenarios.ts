import { applyingScenarios } from "./applying-scenarios.ts";
import { controllingScenarios } from "./controlling-scenarios.ts";
import { deletingScenarios } from "./deleting-scenarios.ts";
import { readingScenarios } from "./reading-scenarios.ts";
import type { Scenario } from "./requests.ts";
import { writingScenarios } from "./writing-scenarios.ts";

/** All that is compared. */
export const scenarios: readonly Scenario[] = [
  ...writingScenarios,
  ...applyingScenarios,
  ...deletingScenarios,
  ...readingScenarios,
  ...controllingScenarios,
];
