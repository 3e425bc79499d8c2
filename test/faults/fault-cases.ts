import { answerCases } from "./cases/answer-cases.ts";
import { hostileCases } from "./cases/hostile-cases.ts";
import { hubCases } from "./cases/hub-cases.ts";
import { identityCases } from "./cases/identity-cases.ts";
import { networkCases } from "./cases/network-cases.ts";
import { processCases } from "./cases/process-cases.ts";
import { webhookCases } from "./cases/webhook-cases.ts";
import type { FaultCase } from "./trial.ts";

/**
 * The table of faults, in the order of their numbers. C1 and C28 are sweeps of their own. C2 to C4 are about the webhook under load;
 * C21 and C22 about a single process, where its unit tests hold them.
 */
export const faultCases: readonly FaultCase[] = [
  ...hubCases,
  ...networkCases,
  ...answerCases,
  ...hostileCases,
  ...identityCases,
  ...processCases,
  ...webhookCases,
].toSorted((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
