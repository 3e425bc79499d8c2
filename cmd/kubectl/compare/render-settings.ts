import { stat } from "node:fs/promises";

import type { Component } from "../../../api/component.ts";
import { Preparations } from "../../../installation/desired.ts";
import { defaultSpokeNamespace } from "../../../installation/installation-namespace.ts";
import { BoundedCache } from "../../../render/release/releases.ts";
import type { ActionInput } from "../action.ts";
import {
  environmentOf,
  manifestFolder,
  objectsOf,
  readInputText,
} from "../selection/input-files.ts";
import { InputError } from "../selection/yaml-documents.ts";
import { namedReleases } from "./named-releases.ts";
import { type RenderSettings, withSpec } from "./render-component.ts";
import { namespaceOfBy, type SpokeNamespaceFlag } from "./rendering-options.ts";

/** Flags of files and of a cluster that a rendering depends on. */
export interface RenderInputFlags extends SpokeNamespaceFlag {
  readonly anchorUid?: string;
  readonly kubernetesVersion?: string;
  readonly live?: string;
  readonly envFile?: string;
  readonly manifestsFrom?: string;
}

/** Reads the files that the flags name, but not the releases. Throws InputError. */
export async function renderSettings(
  input: ActionInput<RenderInputFlags>,
  signal: AbortSignal,
): Promise<RenderSettings> {
  const { options } = input;
  const { live, envFile, manifestsFrom, anchorUid, kubernetesVersion } = options;
  const file = (path: string, flag: string): Promise<string> =>
    readInputText({ path, flag }, signal);
  if (manifestsFrom !== undefined && !(await isFolder(manifestsFrom))) {
    throw new InputError([`--manifests-from ${manifestsFrom}: is not a folder`]);
  }
  const mode = options.spokeNamespace ?? defaultSpokeNamespace;
  return {
    live: live === undefined ? [] : objectsOf(await file(live, "--live"), live),
    environment:
      envFile === undefined ? {} : environmentOf(await file(envFile, "--env-file"), envFile),
    preparations: new Preparations(),
    remarks: new BoundedCache(64),
    namespaceOf: namespaceOfBy(async () => mode),
    releases: namedReleases(input, signal),
    anchorUid,
    kubernetesVersion,
    manifestText: manifestsFrom === undefined ? undefined : manifestFolder(manifestsFrom),
  };
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** The component at a version, without its status: the installed version limits upgrades, not comparisons. */
export function atVersion(component: Component, version: string): Component {
  return withSpec({ ...component, status: undefined }, { version });
}
