import { abortable } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { type AllowedSource, allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import { ManifestSource } from "../../../access/urls/manifest-source.ts";
import { allowedManifestUrl, manifestUrlProblem } from "../../../access/urls/manifest-url.ts";
import { FleetError } from "../../../api/errors.ts";
import { plainText } from "../../../api/foreign-text.ts";
import type { ActionInput } from "../action.ts";
import { userAgent } from "../client-version.ts";
import { UsageError } from "../errors.ts";
import { withUsageErrors } from "../selection/input-files.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import {
  controllerEnvironment,
  type ControllerRules,
  controllersOfHub,
  type ManifestRules,
  rulesOfHub,
} from "./controller-rules.ts";
import type { RenderSettings } from "./render-component.ts";
import { renderSettings } from "./render-settings.ts";
import { namespaceOfHub, type RenderingFlags } from "./rendering-options.ts";

/**
 * Opens the settings of commands that compare live objects with desired ones: they fetch manifests and choose namespaces as the controller does.
 * Release files are not wanted yet. Throws UsageError.
 */
export async function openRendering(
  input: ActionInput<RenderingFlags>,
  access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<RenderSettings & AsyncDisposable> {
  const settings = await withUsageErrors(renderSettings(input, signal));
  const controllers = controllersOfHub(access, signal);
  const { environment, several } = await controllerEnvironment(controllers);
  if (several !== undefined) {
    input.terminal.stderr.write(
      plainText(`warning: ${several}. Nothing is rendered by the environment of one of them`) +
        "\n",
    );
  }
  const { manifestSource = [] } = input.options;
  const rules = rulesOfHub(access, signal, controllers);
  const options = { manifestSource, files: settings.manifestText, rules };
  const namespaceOf = namespaceOfHub(input.options, rules);
  return { ...settings, environment, namespaceOf, ...openManifestReader(options, signal) };
}

/** Reads manifests by URL as the controller does. */
export interface ManifestReader extends AsyncDisposable {
  /** Rejects with FleetError ManifestSourceNotAllowed, ManifestSourceUnavailable or ManifestInvalid, or with the reason of the signal. */
  readonly manifestText: (url: string) => Promise<string>;
}

interface ReaderOptions {
  /** Sources of the command line, in place of those of the controller. Empty: there are none. */
  readonly manifestSource: readonly string[];
  /** Files of the workstation. Undefined: none. */
  readonly files: RenderSettings["manifestText"];
  /** The flags of the controller on the hub, or half a sentence why they are not known. */
  readonly rules: () => Promise<ControllerRules | string>;
}

/**
 * Fetches manifests over verified TLS, within the limits of the controller, and only from its allowed sources. Asks the hub for these sources at the first
 * URL. Fetches every URL once, also one that fails. Throws UsageError for an invalid source.
 */
function openManifestReader(
  { manifestSource, files, rules }: ReaderOptions,
  signal: AbortSignal,
): ManifestReader {
  const named = manifestSource.length === 0 ? undefined : namedRules(manifestSource);
  const opened = new AsyncDisposableStack();
  let source: Promise<ManifestSource | string> | undefined;
  const openSource = async (): Promise<ManifestSource | string> => {
    const found = named === undefined ? await rules() : { manifests: named };
    if (typeof found === "string") return found;
    const { manifests } = found;
    return opened.use(new ManifestSource({ ...manifests, userAgent, clock: systemClock }));
  };
  const fetched = new Map<string, Promise<string>>();
  const read = async (url: string): Promise<string> => {
    if (isFile(url) && files !== undefined) return files(url);
    // Refuses a URL that no source can allow, as the controller does.
    if (manifestUrlProblem(url) !== undefined) allowedManifestUrl(url, []);
    const found = await (source ??= openSource());
    if (typeof found === "string") throw notFetched(url, found);
    return abortable(found.read(url), signal);
  };
  return {
    manifestText: (url) => {
      const known = fetched.get(url) ?? read(url);
      fetched.set(url, known);
      return known;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function isFile(url: string): boolean {
  return !/^https?:/i.test(url);
}

function namedRules(texts: readonly string[]): ManifestRules {
  const sources = texts.map((text): AllowedSource => {
    const source = allowedSourceOf(text);
    if (source !== undefined) return source;
    const wanted = "want https://host/path/, without a query";
    throw new UsageError(`Invalid value "${text}" for --manifest-source: ${wanted}`);
  });
  return { sources, isPinned: false };
}

function notFetched(text: string, why: string): FleetError {
  // Without the query, which may hold a signature.
  const { origin, pathname } = new URL(text);
  return new FleetError(
    "ManifestSourceUnavailable",
    `Manifest ${origin}${pathname} was not fetched, because it is not known what the controller may fetch: ${why}. Name the place with --manifest-source`,
  );
}
