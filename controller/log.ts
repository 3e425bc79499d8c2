import type { Log as Lines } from "../access/log.ts";

/** The part of a pino logger that the controller uses. */
export interface Log extends Lines {
  /** One whose lines have these fields, too. */
  child(fields: object): Log;
}
