import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { CREATE_PHASES, STREAM_KINDS, STREAM_WAYS } from '../../ports/metrics.ts';
import type { CreatePhase, Metrics, StreamKind, StreamWay } from '../../ports/metrics.ts';

// Upper bounds in ms: an exec takes 1 to 10, a resume 50, a boot 100 (kvm) to 1,000 (tcg), a crowded host much longer.
const MS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/** Metrics in prom-client's own registry; one instance a daemon. */
export class PromMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #created = new Counter({
    name: 'sandboxes_created_total',
    help: 'Sandboxes that were brought up.',
    registers: [this.#registry],
  });
  readonly #active = new Gauge({
    name: 'sandboxes_active',
    help: 'Sandboxes that are live now.',
    registers: [this.#registry],
  });
  readonly #boot = this.#histogram(
    'boot_duration_ms',
    "Start of the VM monitor to the guest agent's answer.",
  );
  readonly #exec = this.#histogram('exec_latency_ms', 'An exec call, from its arrival to its result.');
  readonly #phases = new Histogram({
    name: 'create_phase_duration_ms',
    help: 'Where the time of a create goes.',
    labelNames: ['phase'],
    buckets: MS_BUCKETS,
    registers: [this.#registry],
  });
  readonly #streams = new Gauge({
    name: 'streams_open',
    help: 'Background commands, log readers, terminals, previews and tunnels that are open now.',
    labelNames: ['kind'],
    registers: [this.#registry],
  });
  readonly #streamBytes = new Counter({
    name: 'stream_bytes_total',
    help: 'Bytes of streams, into guests and out of them.',
    labelNames: ['kind', 'way'],
    registers: [this.#registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    for (const phase of CREATE_PHASES) this.#phases.zero({ phase });
    for (const kind of STREAM_KINDS) {
      this.#streams.set({ kind }, 0);
      for (const way of STREAM_WAYS) this.#streamBytes.inc({ kind, way }, 0);
    }
  }

  sandboxCreated(): void {
    this.#created.inc();
  }

  sandboxesActive(count: number): void {
    this.#active.set(count);
  }

  booted(ms: number): void {
    this.#boot.observe(ms);
  }

  execDone(ms: number): void {
    this.#exec.observe(ms);
  }

  createPhase(phase: CreatePhase, ms: number): void {
    this.#phases.observe({ phase }, ms);
  }

  streamsChanged(kind: StreamKind, by: 1 | -1): void {
    this.#streams.inc({ kind }, by);
  }

  streamBytes(kind: StreamKind, way: StreamWay, bytes: number): void {
    this.#streamBytes.inc({ kind, way }, bytes);
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({ name, help, buckets: MS_BUCKETS, registers: [this.#registry] });
  }
}
