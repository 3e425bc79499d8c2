import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { byText } from "../../../../api/fields.ts";
import { imagesIn } from "../../../../render/remarks/kept-images.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import { renderObjects, type RenderSettings } from "../../compare/render-component.ts";
import { atVersion, renderSettings } from "../../compare/render-settings.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { type Columns, wide } from "../../output/columns.ts";
import { renderError, type ReportError } from "../../output/report.ts";
import { componentReader } from "../../selection/component-files.ts";
import { withUsageErrors } from "../../selection/input-files.ts";

/** One image, and the installations that need it. */
interface ImageItem {
  readonly image: string;
  readonly neededBy: readonly ReturnType<typeof needOf>[];
}

/** The images of the selected installations or of the components of files, by name. Throws FleetError without release files, and UsageError. */
export async function listImages(
  fleet: Fleet,
  filename: readonly string[],
  version: string | undefined,
): Promise<Report<ImageItem>> {
  const input = fleet.asInput({});
  if (filename.length > 0) {
    if (fleet.args.length > 0) throw new UsageError("Name installations, or give -f, not both");
    // As with kubectl apply, a component without a namespace gets one; the images do not depend on it.
    const read = componentReader(input, fleet.signal, "default");
    const { components, notes } = await withUsageErrors(read(filename, "-f"));
    const own = components.map(({ component }) => component);
    const settings = await renderSettings(input, fleet.signal);
    return { ...(await imageReport(own, settings, version)), notes: () => notes };
  }
  const { components, missing } = await fleet.installations();
  await using settings = await openRendering(input, await fleet.access(), fleet.signal);
  const report = await imageReport(components, settings, version);
  const notes = components.length === 0 ? ["No Knative installations found."] : [];
  return { ...report, errors: [...missing, ...report.errors], notes: () => notes };
}

async function imageReport(
  components: readonly Component[],
  settings: RenderSettings,
  version: string | undefined,
): Promise<Report<ImageItem>> {
  if (components.length > 0) await settings.releases();
  const needs = new Map<string, ReturnType<typeof needOf>[]>();
  const errors: ReportError[] = [];
  for (const component of components) {
    try {
      const wanted = version === undefined ? component : atVersion(component, version);
      // Not in parallel, because equal components share one rendering.
      const rendered = await renderObjects(wanted, settings);
      const need = needOf(component, rendered.version);
      for (const image of new Set(imagesIn(rendered.objects))) {
        needs.set(image, [...(needs.get(image) ?? []), need]);
      }
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      errors.push(renderError(component, error));
    }
  }
  const items = [...needs].map(([image, neededBy]) => ({ image, neededBy }));
  return {
    items: items.toSorted(byText(({ image }) => image)),
    summary: { images: items.length, installations: components.length, failed: errors.length },
    errors,
    columns,
    advises: false,
    name: ({ image }) => image,
  };
}

const columns: Columns<ImageItem> = {
  IMAGE: ({ image }) => image,
  VERSIONS: ({ neededBy }) => [...new Set(neededBy.map(({ version }) => version))].join(","),
  INSTALLATIONS: ({ neededBy }) => neededBy.length,
  "NEEDED BY": wide(({ neededBy }) =>
    neededBy.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(","),
  ),
};

function needOf(component: Component, version: string) {
  const { kind, metadata, spec } = component;
  const { namespace, name } = metadata;
  return { kind, namespace, name, cluster: spec?.clusterProfileRef ?? null, version };
}
