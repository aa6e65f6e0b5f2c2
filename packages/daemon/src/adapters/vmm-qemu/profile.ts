import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { run } from '../../lib/run.ts';
import type { Accelerator, VmmProfile } from '../../ports/vmm.ts';
import { EMULATED_CPU, qemuBinary } from './argv.ts';

/**
 * What saved states are bound to. microvm is no versioned machine type: a state belongs to the very QEMU that made it, and with
 * KVM to the host's model of processor as well.
 */
export async function profileOf(
  accelerator: Accelerator,
  kernel: string,
  signal: AbortSignal,
): Promise<VmmProfile> {
  const [version, cpu, digest] = await Promise.all([
    run(qemuBinary(), ['--version'], signal),
    accelerator === 'kvm' ? hostCpu() : EMULATED_CPU,
    sha256(kernel, signal),
  ]);
  return { monitor: firstLine(version), accelerator, cpu, kernel: digest };
}

async function hostCpu(): Promise<string> {
  const model = /^model name\s*: (.*)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'));
  return model?.[1] ?? 'host';
}

async function sha256(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
