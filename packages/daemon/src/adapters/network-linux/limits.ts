import { z } from 'zod';
import type { NetworkPlan } from './plan.ts';
import { tapOf } from './plan.ts';
import { ignoreMissing, queryTool, runBatch } from './tools.ts';

// A bucket holds what may pass at once: 50 ms' worth, but no less than one packet that the card's segmentation offload makes,
// and what fits the kernel's 32 bits. The queue behind it holds another 100 ms' worth; what comes beyond is dropped.
const BURST_SECONDS = 0.05;
const QUEUE_SECONDS = 0.1;
const MIN_BURST_BYTES = 64 * 1024;
const MAX_BURST_BYTES = 128 * 1024 * 1024;

/**
 * The device through which the packets of a tap's guest are led, since only what leaves a device can be shaped. Named so
 * that no tap has its name, nor matches the rules for taps.
 */
export function shaperName({ tapPrefix }: NetworkPlan, device: number): string {
  return `${tapPrefix}_${device}`;
}

/** Puts a bandwidth in force on a device that has none: each way a bucket of its own. */
export async function shape(
  plan: NetworkPlan,
  device: number,
  bytesPerSecond: number,
  signal: AbortSignal,
): Promise<void> {
  const tap = tapOf(plan, device);
  const shaper = shaperName(plan, device);
  const bucket = bucketOf(bytesPerSecond);
  await runBatch('ip', [`link add name ${shaper} type ifb`, `link set dev ${shaper} up`], signal);
  await runBatch(
    'tc',
    [
      `qdisc add dev ${shaper} root ${bucket}`,
      `qdisc add dev ${tap} root ${bucket}`,
      `qdisc add dev ${tap} ingress`,
      `filter add dev ${tap} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ${shaper}`,
    ],
    signal,
  );
}

function bucketOf(bytesPerSecond: number): string {
  const wanted = Math.round(bytesPerSecond * BURST_SECONDS);
  const burst = Math.min(Math.max(wanted, MIN_BURST_BYTES), MAX_BURST_BYTES);
  const limit = Math.min(burst + Math.round(bytesPerSecond * QUEUE_SECONDS), 2 * MAX_BURST_BYTES);
  // tc's unit for bytes a second.
  return `tbf rate ${bytesPerSecond}bps burst ${burst} limit ${limit}`;
}

/** Takes away what `shape` did, as much of it as was done. */
export async function unshape(plan: NetworkPlan, device: number, signal: AbortSignal): Promise<void> {
  await removeShaping([tapOf(plan, device)], [shaperName(plan, device)], signal);
}

const Qdiscs = z.array(z.object({ kind: z.string(), dev: z.string().optional() }));
const Devices = z.array(z.object({ ifname: z.string() }).partial());

/** Takes away every bandwidth limit of the plan's devices, as an earlier run left them. */
export async function unshapeAll(plan: NetworkPlan, signal: AbortSignal): Promise<void> {
  const [qdiscs, shapers] = await Promise.all([
    queryTool('tc', ['qdisc', 'show'], Qdiscs, signal),
    queryTool('ip', ['link', 'show', 'type', 'ifb'], Devices, signal),
  ]);
  const taps = new Set(plan.taps);
  const shaped = qdiscs.flatMap(({ kind, dev = '' }) =>
    (kind === 'tbf' || kind === 'ingress') && taps.has(dev) ? [dev] : [],
  );
  // Those of a larger pool as well.
  const own = shapers.flatMap(({ ifname = '' }) => (ifname.startsWith(`${plan.tapPrefix}_`) ? [ifname] : []));
  await removeShaping([...new Set(shaped)], own, signal);
}

/** Goes on past what is not there. */
async function removeShaping(
  taps: readonly string[],
  shapers: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const qdiscs = taps.flatMap((tap) => [`qdisc del dev ${tap} ingress`, `qdisc del dev ${tap} root`]);
  if (qdiscs.length > 0) await runBatch('tc', qdiscs, signal, ['-force']).catch(ignoreMissing);
  const links = shapers.map((shaper) => `link del dev ${shaper}`);
  if (links.length > 0) await runBatch('ip', links, signal, ['-force']).catch(ignoreMissing);
}
