import { readFile } from 'node:fs/promises';
import type { Client } from '../harness/client.ts';
import { addressOf, createSandbox } from '../harness/sandbox.ts';
import type { CreateBody, Sandbox } from '../harness/sandbox.ts';
import { Guest } from './guest.ts';
import type { Caller, Place } from './guest.ts';

const SCRIPT = '/root/guest.py';
const CALL = `
import json, sys
sys.path.insert(0, "/root")
import guest
print(json.dumps(guest.OPERATIONS[sys.argv[1]](**json.loads(sys.argv[2]))))
`;

/** A sandbox of the daemon that is told what to do on its network as the guests of the lab are. */
export class SandboxGuest extends Guest<Place> implements AsyncDisposable {
  readonly sandbox: Sandbox;

  private constructor(sandbox: Sandbox, place: Place) {
    const call: Caller['call'] = async (method, params) => {
      const args = ['-c', CALL, method, JSON.stringify(params)];
      const { stdout, stderr, exit_code } = await sandbox.exec('python3', args);
      if (exit_code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as unknown;
    };
    super(place, { call });
    this.sandbox = sandbox;
  }

  static async create(client: Client, body: CreateBody = {}): Promise<SandboxGuest> {
    const sandbox = await createSandbox(client, { mem_size_mib: 256, ...body });
    const script = await readFile(new URL('guest.py', import.meta.url));
    await client.call('PUT', `${sandbox.path}/files?path=${SCRIPT}`, script);
    const mac = await sandbox.sh('cat /sys/class/net/eth0/address');
    return new SandboxGuest(sandbox, { mac, address: await addressOf(sandbox) });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.sandbox[Symbol.asyncDispose]();
  }
}
