/** The machine that these tests run in: commands of its own, and its network. It is disposable, so it is set up for real. */
import { writeFile } from 'node:fs/promises';
import { run } from '../../packages/daemon/src/lib/run.ts';
import { patient } from '../../packages/daemon/src/testing/patience.ts';
import { Client } from '../harness/client.ts';
import { until } from '../harness/poll.ts';

const COMMAND_MS = patient(60_000);

/** Runs a shell script as root and answers what it prints. Rejects, with what it says, when it fails. */
export function sh(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  return run('bash', ['--norc', '-euc', script], AbortSignal.timeout(COMMAND_MS), { ...process.env, ...env });
}

/** A tap takes the set-up some commands, each of which takes its time in here; no test has more sandboxes at once. */
export const FEW_TAPS = { SERVICE_TAP_POOL_SIZE: '4' } as const;

/** Makes user, bridge, taps, access to devices, and the systemd units, as a host has them: host/network/setup.ts. The variables say what else. */
export async function setUpHost(env: Readonly<Record<string, string>> = {}): Promise<void> {
  await sh('node host/network/setup.ts', { ...FEW_TAPS, ...env });
}

/** The arguments of every monitor of a sandbox that runs. */
export async function monitors(): Promise<string[]> {
  const lines = await sh("ps -eo args= | grep '^[^ ]*qemu-system-x86_64 .*-name atoll-' || true");
  return lines.split('\n').filter(Boolean);
}

const SOON_MS = 60_000;

/** The daemon of the systemd unit. */
export const unit = {
  client: new Client('http://127.0.0.1:7777'),

  /** What systemd says of a property of it. */
  async property(name: string): Promise<string> {
    return (await sh(`systemctl show --property=${name} --value atoll.service`)).trim();
  },

  /** It answers calls. */
  async isUp(): Promise<boolean> {
    const answer = await unit.client.call('GET', '/healthz').catch(() => undefined);
    return answer?.status === 200;
  },

  /** Writes the settings that the unit reads, and starts it. */
  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const all = { ...FEW_TAPS, SERVICE_BOOT_TIMEOUT_SECS: '900', ...settings };
    const lines = Object.entries(all).map((pair) => `${pair.join('=')}\n`);
    await writeFile('/etc/atoll.env', lines.join(''));
    await sh('systemctl start atoll.service');
    await until('the unit answers', () => unit.isUp(), SOON_MS);
  },

  /** Stops it, and takes its settings away. */
  async remove(): Promise<void> {
    await sh('systemctl stop atoll.service; rm -f /etc/atoll.env');
  },
};
