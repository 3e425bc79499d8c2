import type { KnativeEventing } from "../../api/component.ts";
import type { Transform } from "../transform.ts";
import { changeContainers, isWorkload } from "../workloads/pod-template.ts";
import { withVariable } from "../workloads/variables.ts";

const name = "SINK_BINDING_SELECTION_MODE";
const webhook = "eventing-webhook";

/**
 * Tells Eventing's webhook which namespaces SinkBindings work in: the field of the spec, else the variable in an override of the
 * webhook, else everywhere. Spec: knative-operator.md 3.19.
 */
export function sinkBindingMode(spec: NonNullable<KnativeEventing["spec"]>): Transform {
  const variable = { name, value: modeOf(spec) };
  return (manifest) =>
    isWorkload(manifest, ["Deployment"]) && manifest.metadata.name === webhook
      ? changeContainers(manifest, (container) => withVariable(container, variable, manifest))
      : manifest;
}

function modeOf({
  sinkBindingSelectionMode = "",
  workloads = [],
  deployments = [],
}: NonNullable<KnativeEventing["spec"]>): string {
  if (sinkBindingSelectionMode !== "") return sinkBindingSelectionMode;
  const variables = [...workloads, ...deployments]
    .filter((override) => override.name === webhook)
    .flatMap(({ env = [] }) => env)
    .filter(({ container }) => container === webhook)
    .flatMap(({ envVars = [] }) => envVars);
  return variables.find((variable) => variable.name === name)?.value ?? "exclusion";
}
