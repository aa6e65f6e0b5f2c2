import { z } from 'zod';
import { isTap, macOf } from './plan.ts';
import type { NetworkPlan } from './plan.ts';
import { ignoreMissing, queryTool, runBatch } from './tools.ts';

const Entries = z.array(z.object({ mac: z.string(), ifname: z.string(), state: z.string().optional() }));
const Neighbours = z.array(z.object({ dst: z.string(), lladdr: z.string().optional() }));

/** Takes back where guests were placed (host/netlink/stations.go), as an earlier run left it. */
export async function removeAllStations(plan: NetworkPlan, signal: AbortSignal): Promise<void> {
  const { bridge } = plan;
  const [entries, neighbours] = await Promise.all([
    queryTool('bridge', ['fdb', 'show', 'br', bridge], Entries, signal),
    queryTool('ip', ['-4', 'neighbour', 'show', 'dev', bridge, 'nud', 'permanent'], Neighbours, signal),
  ]);
  const own = entries.filter(({ state, ifname }) => state === 'static' && isTap(plan, ifname));
  const addresses = neighbours.filter(({ dst, lladdr }) => lladdr === macOf(dst)).map(({ dst }) => dst);
  await removeEntries(
    own.map(({ mac, ifname }) => ({ mac, tap: ifname })),
    signal,
  );
  await removeNeighbours(plan, addresses, signal);
}

async function removeEntries(
  stations: readonly { readonly mac: string; readonly tap: string }[],
  signal: AbortSignal,
): Promise<void> {
  if (stations.length === 0) return;
  const lines = stations.map(({ mac, tap }) => `fdb delete ${mac} dev ${tap} master static`);
  await runBatch('bridge', lines, signal, ['-force']).catch(ignoreMissing);
}

async function removeNeighbours(
  { bridge }: NetworkPlan,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (addresses.length === 0) return;
  const lines = addresses.map((address) => `neighbour delete ${address} dev ${bridge}`);
  await runBatch('ip', lines, signal, ['-force']).catch(ignoreMissing);
}
