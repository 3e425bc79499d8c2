import { useState } from "preact/hooks";

import type { CheckReport } from "../../findings/checks/check-item.ts";
import { endsOf } from "../ends-view.ts";
import { readDocument, whyNot } from "./documents.ts";
import { html, type Markup } from "./html.ts";
import { Badge, Prose, Section, Table } from "./parts.ts";
import { type Reading, Waiting } from "./reading.ts";

/** What was found stays while other pages are open. */
let last: Reading<CheckReport> | null = null;

/** Tokens and certificates that end soon, as `check` finds them when somebody asks: it connects to every cluster. */
export function Ends(): Markup {
  const [reading, setReading] = useState(last);
  const show = (next: Reading<CheckReport>): void => {
    last = next;
    setReading(next);
  };
  const run = (): void => {
    show({});
    readDocument<CheckReport>("check").then(
      (document) => show({ document }),
      (error: unknown) => show({ error: whyNot(error) }),
    );
  };
  return html`<${Section} title="What ends soon">
    <p>
      <button type="button" onClick=${run}>Check tokens and certificates</button>
    </p>
    ${reading && html`<${Waiting} reading=${reading} />`}
    ${reading?.document && html`<${Found} report=${reading.document} />`}
  <//>`;
}

function Found({ report: { items, summary } }: { readonly report: CheckReport }): Markup {
  const unread = items.filter(
    ({ check, state }) => check === "reachable" && state !== "OK" && state !== "WARN",
  ).length;
  const ends = endsOf(items);
  const said =
    ends.length === 0
      ? "Nothing ends within a week"
      : `${ends.length} have ended or end within a week`;
  const missed = unread === 0 ? "" : `, ${unread} of them could not be reached`;
  return html`<p role="status">${`${said}. ${summary.clusters} clusters were asked${missed}.`}</p>
    ${
      ends.length === 0
        ? null
        : html`<${Table}
            label="What ends soon"
            headers=${["Cluster", "State", "What"]}
            rows=${ends.map(({ cluster, key, tone, message }) => [
              key === null
                ? cluster
                : html`<a href=${`#/cluster/${key}`}><${Prose} text=${cluster} /></a>`,
              html`<${Badge} tone=${tone} text=${tone === "bad" ? "Ended" : "Soon"} />`,
              message,
            ])}
          />`
    }`;
}
