import { useState } from "preact/hooks";

import type { DiagnosisReport } from "../../commands/diagnose/diagnosis.ts";
import { readDocument, whyNot } from "./documents.ts";
import { html, type Markup } from "./html.ts";
import { Badge, Command, Section, Table } from "./parts.ts";
import { type Reading, Waiting } from "./reading.ts";

interface DiagnoseProps {
  /** What `diagnose` takes: an installation, or a ClusterProfile. */
  readonly targets: string;
  readonly namespace?: string;
}

/** The walk of `diagnose`, which is run when somebody asks for it. */
export function Diagnose({ targets, namespace }: DiagnoseProps): Markup {
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
  return html`<${Section} title="Diagnosis">
    <p><button type="button" onClick=${run}>Run the diagnosis</button></p>
    ${reading && html`<${Waiting} reading=${reading} />`}
    ${reading?.document && html`<${Walk} report=${reading.document} />`}
  <//>`;
}

/** The steps of the walk, below the root cause. */
function Walk({ report: { items, errors } }: { readonly report: DiagnosisReport }): Markup {
  const [walk] = items;
  if (walk === undefined) {
    return html`<p class="bad-text">${errors.map(({ message }) => message).join("; ")}</p>`;
  }
  const { rootCause, hops } = walk;
  return html`${
      rootCause &&
      html`<div class=${`why-box ${rootCause.severity === "error" ? "bad" : "progress"}`}>
        ${rootCause.severity === "error" ? null : "Nothing failed. A warning: "}
        <b>${rootCause.name}</b> <span class="dim">${rootCause.code}</span>
        <p>${rootCause.message}</p>
        ${rootCause.next.map((step) => html`<${Command} command=${step} />`)}
      </div>`
    }
    <${Table}
      label="Steps of the walk"
      headers=${["Step", "State", "Time", "Result"]}
      rows=${hops.map(({ title, state, durationMs, message }) => [
        title,
        html`<${Badge} tone=${tones[state] ?? "none"} text=${state} />`,
        durationMs === null ? "" : `${durationMs} ms`,
        message,
      ])}
    />`;
}

const tones: Readonly<Record<string, string>> = { OK: "healthy", WARN: "warning", FAIL: "bad" };
