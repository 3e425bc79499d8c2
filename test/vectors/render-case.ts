import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import {
  renderComponent,
  type RenderedComponent,
} from "../../cmd/kubectl/compare/render-component.ts";
import {
  componentDocuments,
  type componentCheck,
} from "../../cmd/kubectl/selection/component-documents.ts";
import {
  environmentOf,
  objectsOf,
  manifestFolder,
} from "../../cmd/kubectl/selection/input-files.ts";
import { InputError, yamlDocuments } from "../../cmd/kubectl/selection/yaml-documents.ts";
import { Preparations } from "../../installation/desired.ts";
import { BoundedCache, type Releases } from "../../render/release/releases.ts";
import { caseFile, type RenderCase } from "./render-cases.ts";

/** What knfleet made of a case: exactly one of `rendered` and `error`. */
export interface CaseOutcome {
  readonly component: Component;
  readonly rendered?: RenderedComponent;
  readonly error?: FleetError;
}

type Check = ReturnType<typeof componentCheck>;

// The uid that upstream was given for its anchors.
const anchorUid = "11111111-2222-3333-4444-555555555555";

/** Reads a case as the command line would. */
export async function componentOf(one: RenderCase, check: Check): Promise<Component> {
  const text = (await caseFile(one, "cr.yaml")) ?? "";
  const documents = yamlDocuments(text, "cr.yaml");
  const { components } = componentDocuments(documents, { namespace: undefined, check });
  const [first] = components;
  if (first === undefined) throw new InputError([`${one.name} holds no component`]);
  return first.component;
}

/** Runs `kubectl knfleet render` for a case, without the process around it. */
export async function runCase(
  one: RenderCase,
  { releases, check }: { readonly releases: Releases; readonly check: Check },
): Promise<CaseOutcome> {
  const component = await componentOf(one, check);
  const live = await caseFile(one, "live.yaml");
  const environment = await caseFile(one, "env.json");
  try {
    const rendered = await renderComponent(component, {
      releases: async () => releases,
      preparations: new Preparations(),
      remarks: new BoundedCache(1),
      // Upstream's operator of these facts has only this.
      namespaceOf: async ({ metadata }) => metadata.namespace,
      anchorUid,
      kubernetesVersion: undefined,
      live: live === undefined ? [] : objectsOf(live, "live.yaml"),
      environment: environment === undefined ? {} : environmentOf(environment, "env.json"),
      manifestText: manifestFolder(one.dir),
    });
    return { component, rendered };
  } catch (error) {
    if (error instanceof FleetError) return { component, error };
    throw error;
  }
}
