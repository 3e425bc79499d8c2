import { findReleases } from "../../cmd/find-releases.ts";
import { checkReleases } from "../../cmd/release-files.ts";
import { versionsIn } from "../../cmd/release-versions.ts";

const { signal } = new AbortController();

/** The release files of a program that measures or tries something. */
export interface FoundFiles {
  readonly dir: string;
  /** True when every release file in the folder is Knative's own, as the lock file has it. */
  readonly isKnative: boolean;
  /** Folder and versions, for people. */
  readonly title: string;
}

/** Finds the release files as every program does. Throws FleetError when they cannot be had. `say` gets a line when a download takes longer. */
export async function foundFiles(
  named: string | undefined,
  say: (line: string) => void,
): Promise<FoundFiles> {
  const { env: environment } = process;
  const { dir, source } = await findReleases({ named, environment, onSlow: say }, signal);
  const { KnativeServing: serving, KnativeEventing: eventing } = await versionsIn(dir);
  const isKnative = source !== "named" || (await isKnatives(dir));
  const whose = isKnative ? "Knative's own" : "not Knative's own";
  const held = `Serving ${serving.join(", ")}; Eventing ${eventing.join(", ")}`;
  return { dir, isKnative, title: `${dir}, ${whose} (${held})` };
}

/** A folder may hold any part of the release files. */
async function isKnatives(dir: string): Promise<boolean> {
  const { problems } = await checkReleases({ dir, environment: process.env });
  return problems.every((problem) => problem.endsWith(" is missing"));
}
