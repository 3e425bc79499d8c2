import { timestampOf } from "../../../api/conditions.ts";
import { KnownSecrets } from "../bundle/known-secrets.ts";
import { Redactor } from "../bundle/write-bundle.ts";
import type { FleetStatus } from "../fleet/status.ts";
import { withCodes } from "../output/report.ts";
import type { PageState } from "./fleet-state.ts";
import { writtenPage } from "./page-html.ts";

/** What the page says besides the fleet. */
interface Written {
  /** When the bundle was gathered; undefined for a fleet. */
  readonly recordedAt: Date | undefined;
  /** The beginning of commands. */
  readonly kubectl: string;
  readonly knfleet: string;
  /** Documents of single installations, by their paths on the server of `ui`; absent: the file has none. */
  readonly documents?: Readonly<Record<string, unknown>>;
}

/**
 * The fleet as one file: the page of `ui` as it is now, without what looks like a secret. Times are those of the moment at which
 * the fleet was read, which the page names.
 */
export function statusHtml(
  report: FleetStatus,
  { recordedAt, kubectl, knfleet, documents = {} }: Written,
): string {
  const redactor = new Redactor(new KnownSecrets().finder());
  const state: PageState = {
    revision: 1,
    hubReadAt: report.generatedAt,
    spokesReadAt: null,
    round: null,
    trouble: null,
    recordedAt: recordedAt === undefined ? null : timestampOf(recordedAt),
    kubectl,
    knfleet,
  };
  return writtenPage({
    status: redactor.value(withCodes(report)),
    state,
    documents: redactor.value(documents),
  });
}
