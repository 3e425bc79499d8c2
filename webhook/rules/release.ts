import { withoutV } from "../../api/component.ts";
import { listAt } from "../../api/fields.ts";
import type { Remark } from "../../render/remarks/remarks.ts";
import { below, type Check, problemIf } from "./rule.ts";

// As many as the controller takes.
const maxPatches = 64;

/** The version can be installed, and is at most one minor away. */
export const version: Check = (_subject, { render }) => render?.version ?? [];

/** The release can be rendered with these settings. */
export const rendering: Check = (_subject, { render }) => render?.others ?? [];

/** Each patch can be applied to the object that it names, leaves alone what is knfleet's own, and deletes nothing that is protected. */
export const patches: Check = ({ spec }, { render }) => {
  if (listAt(spec, "patches").length <= maxPatches) return render?.patches ?? [];
  return [{ path: "spec.patches", message: `must not hold more than ${maxPatches} patches` }];
};

/** The version is exact. A component with another text follows the releases of knfleet; a set, whose warnings leave this one out, resolves the text itself. */
export const exactVersion: Check = ({ spec }, { render }) => {
  const { target = "" } = render ?? {};
  const { version: wanted = "" } = spec;
  if (target === "" || typeof wanted !== "string") return [];
  if (withoutV(wanted) === target) return [];
  const means = wanted === "" ? "absent, which means" : "means";
  const message = `${means} ${target} now, and an upgrade of knfleet with a newer release installs that at once; name ${target} to decide when`;
  return [{ path: "spec.version", message }];
};

/** A remark of one kind. The command line has the same ones. */
function remarks(kind: Remark["kind"]): Check {
  return (_subject, { render }) => (render?.remarks ?? []).filter((one) => one.kind === kind);
}

/** What is installed has something of the name that an override has. */
export const unmatched = remarks("unmatched");

/** Knative reads the keys of `spec.config`. */
export const configKey = remarks("config-key");

/** An autoscaler decides on the replicas. */
export const autoscaled = remarks("autoscaled");

/** `spec.registry` reaches all images and pods. */
export const images = remarks("images");

/** Fields that are accepted and do nothing. */
export const withoutEffect = remarks("without-effect");

const renamedFields = {
  deployments: "deprecated: use spec.workloads, which takes the same entries",
  resources: "deprecated: use spec.workloads[].resources",
} as const;

/** Fields that work and have a better name. */
export const deprecated: Check = ({ spec }) =>
  Object.entries(renamedFields).flatMap(([field, message]) =>
    problemIf(listAt(spec, field).length > 0, below("spec", field), message),
  );
