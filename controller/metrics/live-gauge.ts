import { Gauge, type Registry } from "prom-client";

export interface LiveGauge {
  readonly name: string;
  readonly help: string;
  /** Of the only series. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Puts one number into a registry that is read whenever the metrics are asked for. */
export function addLiveGauge(
  registry: Registry,
  { name, help, labels }: LiveGauge,
  read: () => number,
): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [],
      collect() {
        this.set(labels, read());
      },
    }),
  );
}

/** The same for whether a file is valid: 1 or 0, and no series at all while `read` gives undefined, because there is no such file. */
export function addValidityGauge(
  registry: Registry,
  { name, help }: Pick<LiveGauge, "name" | "help">,
  read: () => boolean | undefined,
): void {
  registry.registerMetric(
    new Gauge({
      name,
      help,
      registers: [],
      collect() {
        const isValid = read();
        // A gauge without labels begins as 0.
        if (isValid === undefined) this.remove();
        else this.set(isValid ? 1 : 0);
      },
    }),
  );
}
