import { expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { contentText, editedContent, setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { type SetContent, setContentOf } from "../../../controller/reconcile/set-content.ts";
import { contentOf } from "../../../render/content.ts";

const spec = { version: "1.22.0", ingress: { kourier: { enabled: true } } };
const releases = await openReleases(sampleDirOf());
const own = await contentOf({ kind: "KnativeServing", spec }, releases, {});
const stamped = contentText(own);
const other = contentText({ ...own, rendered: "0123456789" });

interface Row {
  readonly name: string;
  /** The annotation of the component. */
  readonly content?: string;
  /** What its status says is installed. */
  readonly installed?: string;
  readonly spec?: Component["spec"];
  readonly labels?: Readonly<Record<string, string>>;
  readonly is: SetContent;
}

test.each<Row>([
  { name: "without a stamp is not held", is: { isHeld: false } },
  {
    name: "with what is rendered now gets it",
    content: stamped,
    is: { isHeld: false, installed: stamped },
  },
  { name: "with another rendering is held", content: other, is: { isHeld: true } },
  {
    name: "with another rendering is held while an earlier stamp is installed",
    content: other,
    installed: contentText({ spec: "0123456789", rendered: "0123456789" }),
    is: { isHeld: true },
  },
  {
    name: "that somebody edits gets that at once",
    content: other,
    spec: { ...spec, version: "1.22.1" },
    is: { isHeld: false, installed: editedContent },
  },
  {
    name: "whose edit is taken back gets that, too",
    content: other,
    installed: editedContent,
    is: { isHeld: false, installed: editedContent },
  },
  {
    name: "of which nothing was promised is not held",
    content: contentText({ ...own, rendered: "none" }),
    is: { isHeld: false, installed: contentText({ ...own, rendered: "none" }) },
  },
  { name: "of no set any more is not held", content: other, labels: {}, is: { isHeld: false } },
])("a component $name", async ({ content, installed, is, ...row }) => {
  const labels = row.labels ?? { [setLabels.set]: "prod" };
  const annotations: Record<string, string> =
    content === undefined ? {} : { [setAnnotations.content]: content };
  const told: Record<string, string> =
    installed === undefined ? {} : { [setAnnotations.content]: installed };
  const component: Component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: {
      namespace: "fleet",
      name: "a",
      uid: "1",
      resourceVersion: "1",
      labels,
      annotations,
    },
    spec: row.spec ?? spec,
    status: { annotations: told },
  };
  expect(await setContentOf(component, { releases, rendering: {} })).toEqual(is);
});
