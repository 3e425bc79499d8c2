import { Gauge, type Registry } from "prom-client";

export interface LiveGauge {
  readonly name: string;
  readonly help: string;
  /** Labels of the only series. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Adds a gauge whose number is read at each scrape. */
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

/** Adds a gauge for whether a file is valid: 1 or 0, and no series while `read` returns undefined because there is no file. */
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
        // prom-client starts a gauge without labels as 0.
        if (isValid === undefined) this.remove();
        else this.set(isValid ? 1 : 0);
      },
    }),
  );
}
