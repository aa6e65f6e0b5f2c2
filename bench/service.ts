import { readFile } from 'node:fs/promises';
import { Daemon } from '../e2e/harness/daemon.ts';
import type { Env } from '../e2e/harness/daemon.ts';
import { kibField, machinePid } from '../e2e/harness/host.ts';
import { HttpClient } from './http.ts';

export interface Size {
  readonly vcpu_count?: number;
  readonly mem_size_mib?: number;
}

/** A daemon of its own, as a process of its own, and the calls that scenarios make of it. */
export class Service implements AsyncDisposable {
  readonly daemon: Daemon;
  readonly http: HttpClient;

  private constructor(daemon: Daemon) {
    this.daemon = daemon;
    this.http = new HttpClient(daemon.url);
  }

  static async start(env: Env = {}): Promise<Service> {
    return new Service(await Daemon.start(env));
  }

  async create(body: Size & { readonly name?: string } = {}): Promise<string> {
    return idOf(await this.http.call('POST', '/sandboxes', body));
  }

  async exec(id: string, command: string, args: readonly string[] = []): Promise<string> {
    const answer = await this.http.call('POST', `/sandboxes/${id}/exec`, { command, args });
    const { stdout, stderr, exit_code } = answer as { stdout: string; stderr: string; exit_code: number };
    if (exit_code !== 0) throw new Error(`${command} ended with ${exit_code}: ${stderr}`);
    return stdout;
  }

  async destroy(id: string): Promise<void> {
    await this.http.call('DELETE', `/sandboxes/${id}?keep=false`);
  }

  async snapshot(id: string): Promise<string> {
    return ((await this.http.call('POST', `/sandboxes/${id}/snapshot`)) as { snapshot_id: string })
      .snapshot_id;
  }

  /** `<snapshot>/resume`, `<snapshot>/fork` and so on, with a query if wanted. */
  async bringUp(how: string): Promise<string> {
    return idOf(await this.http.call('POST', `/snapshots/${how}`));
  }

  /** Ids of clones. Rejects when one could not be made. */
  async clone(snapshot: string, count: number): Promise<string[]> {
    const answer = await this.http.call('POST', `/snapshots/${snapshot}/clone`, { count });
    const { sandboxes } = answer as { sandboxes: { id?: string; error?: string }[] };
    return sandboxes.map(({ id, error }) => {
      if (id === undefined) throw new Error(`a clone: ${error}`);
      return id;
    });
  }

  async deleteSnapshot(id: string): Promise<void> {
    await this.http.call('DELETE', `/snapshots/${id}`);
  }

  /** Deletes what a resume retired. */
  async deleteCheckpoint(id: string): Promise<void> {
    await this.http.call('DELETE', `/snapshots/history/${id}`);
  }

  /** The share of memory that is a sandbox's machine's own, in MiB. */
  async pssMib(id: string): Promise<number> {
    const pid = await machinePid(this.daemon.stateDir, id);
    return kibField(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8'), 'Pss') / 1024;
  }

  /** Memory of the daemon's process, in MiB. */
  async residentMib(): Promise<number> {
    return kibField(await readFile(`/proc/${this.daemon.pid}/status`, 'utf8'), 'VmRSS') / 1024;
  }

  /** One figure of `GET /metrics`. */
  async metric(name: string): Promise<number> {
    const { text } = await this.daemon.client.call('GET', '/metrics');
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
    if (found === null) throw new Error(`no metric ${name}`);
    return Number(found[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]();
    // Snapshots go with the state directory: held ones keep nothing of a daemon that is gone.
    await this.daemon.kill();
    await this.daemon[Symbol.asyncDispose]();
  }
}

function idOf(answer: unknown): string {
  return (answer as { id: string }).id;
}
