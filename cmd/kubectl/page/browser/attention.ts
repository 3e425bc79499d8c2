import type { FleetStatus } from "../../fleet/status.ts";
import { shortNameOf } from "../../output/names.ts";
import { type Commands as CommandBeginnings, words } from "../../output/steps.ts";
import { firstSteps } from "../first-steps.ts";
import { type CauseView, keyOf } from "../fleet-view.ts";
import { type SetRow, setRows } from "../set-view.ts";
import { html, type Markup } from "./html.ts";
import { Badge, Command, Commands, FirstOf, Prose, Section } from "./parts.ts";
import { useClusters } from "./reading.ts";

interface WrongProps {
  readonly sets: FleetStatus["sets"];
  /** The beginning of commands. */
  readonly knfleet: string;
  readonly causes: readonly CauseView[];
  readonly search: (text: string) => void;
}

// Two rows of them where the window is 1,280 wide: the table begins below without scrolling.
const firstCauses = 4;

/** What needs somebody: fleet sets that do not go on, and causes. */
export function Wrong({ sets, causes, knfleet, search }: WrongProps): Markup {
  const cards = [
    ...setRows(sets ?? [])
      .filter(({ tone }) => tone === "bad")
      .map(({ set }) => html`<${SetCard} key=${keyOf(set)} set=${set} />`),
    ...causes.map(
      (cause) =>
        html`<${Cause} key=${cause.filter} cause=${cause} knfleet=${knfleet} search=${search} />`,
    ),
  ];
  if (cards.length === 0) return null;
  return html`<${Section} title="What is wrong">
    <${FirstOf} items=${cards} first=${firstCauses} show=${listOf} />
  <//>`;
}

function listOf(cards: unknown): Markup {
  return html`<ul class="causes">
    ${cards}
  </ul>`;
}

interface CauseProps extends Pick<WrongProps, "knfleet" | "search"> {
  readonly cause: CauseView;
}

function Cause({ cause, knfleet, search }: CauseProps): Markup {
  const { reason, code, provider, count, clusters, message, isShared, filter } = cause;
  const where = clusters === 1 ? "1 cluster" : `${clusters} clusters`;
  return html`<li>
    <button type="button" class="link" onClick=${() => search(filter)}>
      <b>${count}</b> ${reason}
    </button>
    <span class="dim">${[code, where, provider].filter((text) => text !== null).join(" · ")}</span>
    ${
      message === null
        ? null
        : html`<p>${isShared ? "" : "One of them: "}<${Prose} text=${message} /></p>`
    }
    <${Command} command=${`${knfleet} ${words("diagnose", "-A", "--reason", reason)}`} />
  </li>`;
}

function SetCard({ set }: Pick<SetRow, "set">): Markup {
  const { phase, stage, message, failed, namespace } = set;
  const place = [namespace, stage === null ? null : `stage ${stage}`, `${failed} failed`];
  return html`<li>
    <a href=${`#/set/${keyOf(set)}`}><${Prose} text=${shortNameOf(set)} /></a>${" "}
    <${Badge} tone="bad" text=${phase ?? ""} />${" "}
    <span class="dim">${place.filter((text) => text !== null).join(" · ")}</span>
    ${message === null ? null : html`<p><${Prose} text=${message} /></p>`}
  </li>`;
}

interface FirstStepsProps extends CommandBeginnings {
  readonly now: Date;
}

/** What to do in a fleet without installations. */
export function FirstSteps({ kubectl, knfleet, now }: FirstStepsProps): Markup {
  const clusters = useClusters(true, now);
  const { commands, manifest } = firstSteps(clusters.document?.items ?? [], { kubectl, knfleet });
  return html`<${Section} title="What to do first">
    <${Commands} commands=${commands} />
    <pre tabindex="0">${manifest}</pre>
  <//>`;
}
