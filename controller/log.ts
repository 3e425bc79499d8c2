import type { Log as Lines } from "../access/log.ts";
import type { Component } from "../api/component.ts";
import { targetIdOf, keyTextOf } from "./component-identity.ts";

/** The part of a pino logger that the controller uses. */
export interface Log extends Lines {
  /** One whose lines have these fields, too. */
  child(fields: object): Log;
}

/** How lines of the log name a component and its cluster. */
export interface LastingLogFields {
  readonly component: string;
  readonly uid: string;
  /** Absent: the hub itself. */
  readonly spoke?: string;
}

/** The same with what was asked for and which attempt at it this is. */
export interface LogFields extends LastingLogFields {
  readonly generation?: number;
  /** Counts up with each reconcile of the component in this process. */
  readonly attempt: number;
}

/** The fields of what goes on from one attempt to the next. */
export function lastingLogFieldsOf(component: Component): LastingLogFields {
  const spoke = targetIdOf(component);
  const { uid } = component.metadata;
  return { component: keyTextOf(component), uid, ...(spoke === "" ? {} : { spoke }) };
}

/** The fields of a component that is being worked on. */
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
