import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { recordAt } from "../../api/fields.ts";
import { chartFolder } from "./helm.ts";

/** What the chart of the upstream operator makes of its values where it matters here. Format: knative-operator.md 7.1 */
const templates = `{{- with .Values.knative_operator.multicluster }}
apiVersion: v1
kind: ConfigMap
metadata: { name: clusterprofile-provider-file, namespace: {{ $.Release.Namespace }} }
data:
  config.json: |
    {{- toPrettyJson .accessProvidersConfig | nindent 4 }}
{{- end }}
{{- range $name := list "knative-operator" "operator-webhook" }}
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ $name }}, namespace: {{ $.Release.Namespace }} }
spec:
  selector: { matchLabels: { name: {{ $name }} } }
  template:
    metadata: { labels: { name: {{ $name }} } }
    spec:
      containers: [{ name: {{ $name }}, image: "example.org/{{ $name }}:1" }]
{{- end }}
`;

/**
 * Writes a chart that installs what the chart of the upstream operator installs: the CRDs as ordinary templates, which go with the release,
 * the Deployments and the provider file. The CRDs are ours without what only we have, and with upstream's webhook for conversions; test/api/schema/component-crd-upstream.test.ts compares them with upstream's.
 */
export async function writeUpstreamChart(folder: string): Promise<string> {
  const chart = join(folder, "knative-operator");
  await mkdir(join(chart, "templates/crds"), { recursive: true });
  await writeFile(
    join(chart, "Chart.yaml"),
    stringify({ apiVersion: "v1", name: "knative-operator", version: "1.22.0" }),
  );
  await writeFile(join(chart, "values.yaml"), "knative_operator: {}\n");
  await writeFile(join(chart, "templates/operator.yaml"), templates);
  for (const kind of ["knativeservings", "knativeeventings"]) {
    const file = `operator.knative.dev_${kind}.yaml`;
    await writeFile(join(chart, "templates/crds", file), stringify(await oursWithout(file)));
  }
  return chart;
}

async function oursWithout(file: string): Promise<object> {
  const text = await readFile(join(chartFolder, "files/crds", file), "utf8");
  const crd = recordAt(parse(text.replace(/ {8}- name: Target Cluster\n.*\n.*\n/, "")));
  const service = {
    namespace: "knative-operator",
    name: "operator-webhook",
    path: "/resource-conversion",
  };
  const webhook = { conversionReviewVersions: ["v1"], clientConfig: { service } };
  return {
    ...crd,
    spec: { ...recordAt(crd, "spec"), conversion: { strategy: "Webhook", webhook } },
  };
}
