import type { Diagnosis, Difference } from "../diagnosis.ts";
import { hopTitles, type Hop } from "./hop.ts";

/** The same walk from elsewhere, with what went otherwise there, explained. */
export function compared(there: Diagnosis, here: Diagnosis): Diagnosis {
  const byId = new Map(here.hops.map((hop) => [hop.id, hop]));
  const differences = there.hops.flatMap((hop) => {
    const own = byId.get(hop.id);
    return own === undefined ? [] : (differenceOf(own, hop) ?? []);
  });
  return { ...there, differences };
}

function differenceOf(here: Hop, there: Hop): Difference | undefined {
  const isSame = here.state === there.state && here.code === there.code;
  // What is skipped is told by the step that is in the way.
  if (isSame || there.state === "SKIPPED" || here.state === "SKIPPED") return undefined;
  const meaning = `${hopTitles[there.id]}: ${side("from here", here)}; ${side("from there", there)}`;
  return { hop: there.id, here: here.state, there: there.state, meaning };
}

function side(where: string, { state, code, message }: Hop): string {
  return state === "OK" ? `${where} it works` : `${where} ${code ?? state}: ${message}`;
}
