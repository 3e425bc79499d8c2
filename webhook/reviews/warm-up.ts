import type { Log } from "../../access/log.ts";
import { type Component, operatorApiVersion } from "../../api/component.ts";
import type { RenderCheck } from "./render-check.ts";

/** What is prepared before the first review. */
export interface WarmUp {
  /** Names of what is not prepared yet. */
  readonly waitingFor: () => readonly string[];
}

const metadata = { namespace: "knative", name: "component", uid: "", resourceVersion: "" };
const kourier = { istio: { enabled: false }, kourier: { enabled: true } };
const components: readonly Component[] = [
  { apiVersion: operatorApiVersion, kind: "KnativeServing", metadata, spec: { ingress: kourier } },
  { apiVersion: operatorApiVersion, kind: "KnativeServing", metadata, spec: {} },
  { apiVersion: operatorApiVersion, kind: "KnativeEventing", metadata, spec: {} },
];

/**
 * Renders the newest release of each kind in the background, Serving with Kourier and with Istio. The first review of a release parses its
 * files, and on a busy machine that takes longer than an API server may wait. A release that cannot be rendered holds nothing up: the
 * reviews say what is wrong with it.
 */
export function warmUp(renderCheck: RenderCheck, log: Log, signal: AbortSignal): WarmUp {
  let isWarm = false;
  const render = async (): Promise<void> => {
    for (const component of components) await renderCheck(component, signal);
  };
  void render()
    .catch((error: unknown) => {
      if (!signal.aborted) log.warn({ err: error }, "A release could not be rendered at the start");
    })
    .finally(() => {
      isWarm = true;
    });
  return { waitingFor: () => (isWarm ? [] : ["the releases, which are being read"]) };
}
