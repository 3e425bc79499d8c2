import { useEffect, useState } from "preact/hooks";

import type { DiagnosisReport } from "../../findings/diagnosis.ts";
import { isCommand } from "../../output/steps.ts";
import { readDocument, whyNot } from "./documents.ts";
import { html, type Markup } from "./html.ts";
import { Badge, Command, Prose, Section, Table } from "./parts.ts";
import { type Reading, Waiting } from "./reading.ts";

interface DiagnoseProps {
  /** What `diagnose` takes: an installation, or a ClusterProfile. */
  readonly targets: string;
  readonly namespace?: string;
  /** Runs it at once, and not only when somebody asks for it. */
  readonly isWanted?: boolean;
}

/** The walk of `diagnose`. */
export function Diagnose({ targets, namespace, isWanted = false }: DiagnoseProps): Markup {
  const [reading, setReading] = useState<Reading<DiagnosisReport> | null>(null);
  const query = new URLSearchParams({
    targets,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const run = (): void => {
    setReading({});
    readDocument<DiagnosisReport>(`diagnosis?${query}`).then(
      (document) => setReading({ document }),
      (error: unknown) => setReading({ error: whyNot(error) }),
    );
  };
  useEffect(() => {
    if (isWanted) run();
  }, []);
  return html`<${Section} title="Diagnosis">
    ${reading && html`<${Waiting} reading=${reading} />`}
    ${reading?.document && html`<${Walk} report=${reading.document} />`}
    <p>
      <button type="button" onClick=${run}>
        ${reading === null ? "Run the diagnosis" : "Run the diagnosis again"}
      </button>
    </p>
  <//>`;
}

/** The steps of the walk below the root cause: those that found something, and all when that is asked. */
function Walk({ report: { items, errors } }: { readonly report: DiagnosisReport }): Markup {
  const [walk] = items;
  const [isWhole, setWhole] = useState(false);
  if (walk === undefined) {
    return html`<p class="bad-text">${errors.map(({ message }) => message).join("; ")}</p>`;
  }
  const { rootCause, hops } = walk;
  const notable = hops.filter(({ state }) => state === "WARN" || state === "FAIL");
  return html`${rootCause && html`<${RootCause} cause=${rootCause} />`}
    <${Steps} hops=${isWhole || notable.length === 0 ? hops : notable} />
    ${
      isWhole || notable.length === 0 || notable.length === hops.length
        ? null
        : html`<button type="button" onClick=${() => setWhole(true)}>
            Show all ${hops.length} steps
          </button>`
    }`;
}

type Diagnosed = DiagnosisReport["items"][number];

function RootCause({ cause }: { readonly cause: NonNullable<Diagnosed["rootCause"]> }): Markup {
  const { severity, name, code, message, next } = cause;
  return html`<div class=${`why-box ${severity === "error" ? "bad" : "progress"}`}>
    ${severity === "error" ? null : "Nothing failed. A warning: "}
    <b>${name}</b> <span class="dim">${code}</span>
    <p><${Prose} text=${message} /></p>
    ${next.map((step) =>
      isCommand(step)
        ? html`<${Command} command=${step} />`
        : html`<p><${Prose} text=${step} /></p>`,
    )}
  </div>`;
}

function Steps({ hops }: Pick<Diagnosed, "hops">): Markup {
  return html`<${Table}
    label="Steps of the walk"
    headers=${["Step", "State", "Time", "Result"]}
    rows=${hops.map(({ title, state, durationMs, message }) => [
      title,
      html`<${Badge} tone=${tones[state] ?? "none"} text=${state} />`,
      durationMs === null ? "" : html`<span class="number">${durationMs} ms</span>`,
      message,
    ])}
  />`;
}

const tones: Readonly<Record<string, string>> = { OK: "healthy", WARN: "warning", FAIL: "bad" };
