import type { SayOptions, World } from "./diagnose-world.ts";

/** One induced fault: how it is made, and what is to be found. */
export interface Fault {
  readonly name: string;
  readonly code: string;
  /** Default: error. */
  readonly severity?: "warning" | "error";
  /** What the message has to say. */
  readonly says?: RegExp;
  /** What the next steps say. */
  readonly advises?: RegExp;
  /** Makes the fault; returns the command line and how to undo it. */
  readonly make: (world: World) => Promise<Made>;
}

export interface Made {
  readonly args: readonly string[];
  readonly options?: SayOptions;
  readonly undo?: () => Promise<unknown>;
}

/** The command line for a component by its name. */
export function eventing(name: string): readonly string[] {
  return [`ke/${name}`, "-n", name];
}
