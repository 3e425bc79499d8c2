import type { Log as Lines } from "../access/log.ts";
import type { Component } from "../api/component.ts";
import { componentId, targetId } from "../api/keys.ts";

/** The part of a pino logger that the controller uses. */
export interface Log extends Lines {
  /** A logger whose lines also have these fields. */
  child(fields: object): Log;
}

/** The fields that name a component and its cluster. */
export interface LastingLogFields {
  readonly component: string;
  readonly uid: string;
  /** Absent: the hub itself. */
  readonly spoke?: string;
}

/** The fields that also name the generation and the attempt. */
export interface LogFields extends LastingLogFields {
  readonly generation?: number;
  /** Counts up with each reconcile of the component in this process. */
  readonly attempt: number;
}

/** The log fields of work that outlasts an attempt. */
export function lastingLogFieldsOf(component: Component): LastingLogFields {
  const spoke = targetId(component);
  const { uid } = component.metadata;
  return { component: componentId(component), uid, ...(spoke === "" ? {} : { spoke }) };
}

/** The log fields of an attempt. */
export function logFieldsOf({
  component,
  installation,
}: {
  readonly component: Component;
  readonly installation: { readonly attempts: number };
}): LogFields {
  const { generation } = component.metadata;
  return {
    ...lastingLogFieldsOf(component),
    ...(generation === undefined ? {} : { generation }),
    attempt: installation.attempts,
  };
}
