import { refusedReference } from "../../../access/providers/reference-policy.ts";
import { componentKinds } from "../../../api/component.ts";
import { fleetSetKinds } from "../../../api/fleet-set.ts";
import { isExcluded, namespacesOf } from "../../../sets/select-clusters.ts";
import { below, problemIf, quoteValue } from "../rule.ts";
import { overrides, selectors, templateMetadata, templateReference } from "./set-fields.ts";
import { candidatesOf, idleOverrides } from "./set-results.ts";
import { durations, emptyStages, order, stageNames, windows } from "./set-rollout.ts";
import type { SetCheck, SetRule } from "./set-rule.ts";
import { values } from "./set-values.ts";
import { checkSource, verify } from "./set-verify.ts";

/** The rules about the fields of a set, by name. The name is the value of a metric's label. A test compares docs/webhook.md with them. */
export const setRules: Readonly<Record<string, SetRule>> = {
  selectors: { code: 422, check: selectors },
  "template-metadata": { code: 422, check: templateMetadata },
  "template-reference": { code: 422, check: templateReference },
  overrides: { code: 422, check: overrides },
  values: { code: 422, check: values },
  stages: { code: 422, check: stageNames },
  windows: { code: 422, check: windows },
  order: { code: 422, check: order },
  durations: { code: 422, check: durations },
  verify: { code: 422, check: verify },
  "check-source": { code: 403, check: checkSource },
};

/** Warns of an unusual namespace when --spoke-namespace=Component makes it the namespace of Knative on every cluster. Spec: sets.md 3. */
const spokeNamespace: SetCheck = ({ kind, namespace, before }, facts) => {
  const canonical = componentKinds[fleetSetKinds[kind].component].label;
  return problemIf(
    before === undefined && facts.spokeNamespace === "Component" && namespace !== canonical,
    "metadata.namespace",
    `with --spoke-namespace=Component every cluster gets its installation in namespace ${quoteValue(namespace)}, not in ${canonical}`,
  );
};

/** Warns when the selector selects no ClusterProfile: none may exist yet, or a label is misspelt. */
const noCluster: SetCheck = ({ spec, namespace, changed }, { profiles }) =>
  problemIf(
    changed.clusters &&
      profiles !== undefined &&
      spec.clusters.from === "Selector" &&
      candidatesOf(spec, profiles, namespace).length === 0,
    "spec.clusters.selector",
    "selects no ClusterProfile now",
  );

/** Warns of selected ClusterProfiles that components of this namespace may not reference; the controller leaves them out. */
const notPermitted: SetCheck = ({ spec, namespace, changed }, { profiles, references }) => {
  if (!changed.clusters || profiles === undefined || references === undefined) return [];
  if (spec.clusters.from !== "Selector") return [];
  const selected = candidatesOf(spec, profiles, namespace);
  const refused = selected.flatMap(
    ({ metadata }) => refusedReference(namespace, metadata, references) ?? [],
  );
  const message = `${refused.length} of ${selected.length} clusters that are selected now are left out: ReferenceNotPermitted: ${refused[0]}`;
  return problemIf(refused.length > 0, "spec.clusters.selector", message);
};

/** Warns of exclusions without effect. Only of the set's own ClusterProfiles does the author learn whether they exist. */
const idleExclusion: SetCheck = ({ spec, namespace: home, changed }, { profiles }) => {
  if (!changed.clusters) return [];
  const namespaces = namespacesOf(spec.clusters, home);
  return (spec.clusters.exclude ?? []).flatMap((exclusion, index) => {
    const { namespace = home, name } = exclusion;
    const isOutside = !namespaces.includes(namespace);
    const isThere = profiles?.some(({ metadata }) => isExcluded([exclusion], metadata, home));
    return problemIf(
      isOutside || isThere === false,
      below("spec", "clusters", "exclude", index),
      isOutside
        ? `excludes nothing: the set selects no ClusterProfile of namespace ${quoteValue(namespace)}`
        : `excludes nothing now: namespace ${quoteValue(namespace)} has no ClusterProfile ${quoteValue(name)}`,
    );
  });
};

/** The warnings about a set, by name. */
export const setWarnings: Readonly<Record<string, SetCheck>> = {
  "spoke-namespace": spokeNamespace,
  "no-cluster": noCluster,
  "not-permitted": notPermitted,
  "idle-exclusion": idleExclusion,
  "idle-override": idleOverrides,
  "empty-stage": emptyStages,
};
