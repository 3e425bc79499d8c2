import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { FleetStatus } from "../../fleet/status.ts";
import type { Route } from "../address.ts";
import type { PageState } from "../fleet-state.ts";
import { shownAge } from "../shown-age.ts";
import { ClusterPage } from "./cluster-page.ts";
import { ClustersPage } from "./clusters-page.ts";
import { followFleet, written } from "./documents.ts";
import { type DetailProps, FleetPage, type FleetProps } from "./fleet-page.ts";
import { html, type Markup } from "./html.ts";
import { InstallationPage } from "./installation-page.ts";
import { Keys, onKey } from "./keys.ts";
import { secretInAddress, takeSecret } from "./secret.ts";
import { SetPage } from "./set-page.ts";
import { useAddress } from "./use-address.ts";

function App(): Markup {
  const [status, setStatus] = useState<FleetStatus | undefined>(written?.status);
  const [state, setState] = useState<PageState | undefined>(written?.state);
  const [lost, setLost] = useState<string | null>(null);
  const { route, filter, setFilter } = useAddress();
  const time = useNow();
  useEffect(() => {
    if (written !== undefined) return;
    followFleet({
      onStatus: setStatus,
      onState: (next) => {
        setState(next);
        setLost(null);
      },
      onLost: setLost,
    });
  }, []);
  if (status === undefined || state === undefined) {
    return html`<main>
      <h1>Knative fleet</h1>
      <p role="status">${lost ?? "Reading the fleet…"}</p>
    </main>`;
  }
  const now =
    written === undefined && state.recordedAt === null ? time : recordedTime(state, status);
  const isServed = written === undefined;
  const isRecorded = state.recordedAt !== null;
  const { kubectl, knfleet, revision } = state;
  const lostSince = lost === null && state.trouble === null ? null : state.hubReadAt;
  const props = {
    status,
    now,
    kubectl,
    knfleet,
    revision,
    filter,
    isServed,
    isRecorded,
    lostSince,
  };
  return html`<header><${Freshness} state=${state} now=${time} lost=${lost} /></header>
    <main>${pageOf(route, { ...props, onFilter: setFilter })}</main>
    <${Keys} />`;
}

function pageOf(route: Route, props: DetailProps & FleetProps): Markup {
  const { page } = route;
  if (page === "installation") {
    return html`<${InstallationPage} ...${props} installationKey=${route.key} />`;
  }
  if (page === "cluster") return html`<${ClusterPage} ...${props} clusterKey=${route.key} />`;
  if (page === "clusters") return html`<${ClustersPage} ...${props} />`;
  if (page === "set") return html`<${SetPage} ...${props} setKey=${route.key} />`;
  return html`<${FleetPage} ...${props} />`;
}

/** Ages of what does not change are those of the moment at which it was read. */
function recordedTime({ recordedAt }: PageState, { generatedAt }: FleetStatus): Date {
  return new Date(recordedAt ?? generatedAt);
}

interface FreshnessProps {
  readonly state: PageState;
  readonly now: Date;
  readonly lost: string | null;
}

function Freshness({ state, now, lost }: FreshnessProps): Markup {
  const trouble =
    lost ?? (state.trouble === null ? null : `The hub cannot be read: ${state.trouble}`);
  return html`<nav><a href="#/">knfleet</a> <a href="#/clusters">Clusters</a></nav>
    <span class="dim">${freshnessText(state, now)}</span>
    ${trouble === null ? null : html`<p class="trouble" role="alert">${trouble}</p>`}`;
}

function freshnessText(
  { recordedAt, hubReadAt, spokesReadAt, round }: PageState,
  now: Date,
): string {
  if (recordedAt !== null) return `As it was at ${recordedAt}`;
  if (written !== undefined) return `As it was at ${hubReadAt}`;
  const hub = `Hub read ${shownAge(hubReadAt, now)} ago`;
  if (round !== null && spokesReadAt === null)
    return `${hub} · clusters ${round.done} of ${round.total}`;
  return spokesReadAt === null ? hub : `${hub} · clusters ${shownAge(spokesReadAt, now)} ago`;
}

function useNow(): Date {
  const [now, setNow] = useState(new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

// Before anything reads the address. A printed address that is opened in a tab of the page changes only what is behind `#`.
if (written === undefined) {
  takeSecret();
  addEventListener("hashchange", () => {
    // The page that is loaded again takes it.
    if (secretInAddress() !== undefined) location.reload();
  });
}
document.addEventListener("keydown", onKey);
const root = document.getElementById("page");
if (root !== null) render(html`<${App} />`, root);
