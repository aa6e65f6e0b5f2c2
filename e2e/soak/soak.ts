import type { Client } from '../harness/client.ts';
import { timed } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { bringUp, deleteSnapshots, makeClones, takeSnapshot } from '../harness/snapshot.ts';

export interface SoakPlan {
  /** Snapshot and resume, all sandboxes together. */
  readonly cycles: number;
  readonly sandboxes: number;
  readonly clones: number;
  /** Hears of each cycle. */
  readonly onRound?: (done: number) => void;
  /** Hears of each batch of clones. */
  readonly onClones?: (done: number) => void;
}

/** Milliseconds of each call. */
export interface SoakFigures {
  readonly snapshots: number[];
  readonly resumes: number[];
  readonly clones: number[];
}

// At most what the pool of devices and 24 GiB carry beside the sandboxes.
const CLONES_AT_ONCE = 20;

/**
 * Keeps its guest busy: writes files of random bytes and checks those it wrote before, and talks to the name server, all the time. A
 * line of `beats` for each round; whatever is wrong is a line of `faults`.
 */
const BUSY = `
import hashlib, os, random, socket, time
os.makedirs('/root/busy', exist_ok=True)
os.chdir('/root/busy')
sums = {}
def fault(what):
    with open('/root/faults', 'a') as faults: faults.write(f'{what}\\n')
query = bytes.fromhex('123401000001000000000000') + b'\\x09localhost\\x00' + bytes.fromhex('00010001')
round = 0
while True:
    round += 1
    name = str(round % 16)
    data = os.urandom(random.randrange(1, 300_000))
    with open(name, 'wb') as file:
        file.write(data)
        if round % 4 == 0: os.fsync(file.fileno())
    sums[name] = hashlib.sha256(data).digest()
    known = random.choice(list(sums))
    if hashlib.sha256(open(known, 'rb').read()).digest() != sums[known]: fault(f'file {known} is not what was written')
    for attempt in range(5):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                out.settimeout(5)
                out.connect(('10.213.0.1', 53))
                out.send(query)
                if out.recv(512)[:2] == query[:2]: break
        except OSError as error: last = error
    else: fault(f'the name server: {last}')
    with open('/root/beats', 'a') as beats: beats.write(f'{round}\\n')
    time.sleep(0.02)
`;

/** Snapshots and resumes busy sandboxes in turns, then clones one. Rejects at the first thing that is not as it has to be. */
export async function soak(client: Client, plan: SoakPlan): Promise<SoakFigures> {
  const figures: SoakFigures = { snapshots: [], resumes: [], clones: [] };
  let done = 0;
  const chains = Array.from({ length: plan.sandboxes }, async (_, at) => {
    let sandbox = await startBusy(client, `soak-${at}`);
    const own = Math.ceil(plan.cycles / plan.sandboxes);
    for (let cycle = 0; cycle < own; cycle += 1) {
      sandbox = await turn(client, sandbox, figures);
      plan.onRound?.((done += 1));
    }
    await sandbox.destroy();
  });
  await Promise.all(chains);
  await cloneAll(client, plan, figures);
  await deleteSnapshots(client);
  return figures;
}

async function startBusy(client: Client, name: string): Promise<Sandbox> {
  const sandbox = await createSandbox(client, { name, mem_size_mib: 256, vcpu_count: 1 });
  const content_base64 = Buffer.from(BUSY).toString('base64');
  await sandbox.post('write-file', { path: '/root/busy.py', content_base64 });
  await sandbox.sh(
    'nohup python3 /root/busy.py >>/root/faults 2>&1 & until [ -s /root/beats ]; do sleep 0.1; done',
  );
  return sandbox;
}

async function turn(client: Client, sandbox: Sandbox, figures: SoakFigures): Promise<Sandbox> {
  const before = await beats(sandbox);
  const taken = await timed(takeSnapshot(client, sandbox.id));
  const resumed = await timed(bringUp(client, `${taken.value}/resume?retain_history=false`));
  figures.snapshots.push(taken.ms);
  figures.resumes.push(resumed.ms);
  await goesOn(resumed.value, before);
  return resumed.value;
}

/** The same program as before, one beat further at least, without a fault. */
async function goesOn(sandbox: Sandbox, before: number): Promise<void> {
  await sandbox.sh(`until [ "$(tail -n 1 /root/beats)" -gt ${before} ]; do sleep 0.02; done`);
  const faults = await sandbox.sh('cat /root/faults');
  if (faults !== '') throw new Error(`sandbox ${sandbox.id}: ${faults}`);
}

async function cloneAll(client: Client, plan: SoakPlan, figures: SoakFigures): Promise<void> {
  const source = await startBusy(client, 'soak-source');
  const id = await takeSnapshot(client, source.id);
  for (let left = plan.clones; left > 0; left -= CLONES_AT_ONCE) {
    const some = Math.min(left, CLONES_AT_ONCE);
    const { value: clones, ms } = await timed(makeClones(client, id, { count: some }));
    figures.clones.push(ms / some);
    // All at once: they take the processors from each other for as long as they live.
    await Promise.all(clones.map(async (clone) => goesOn(clone, await beats(clone))));
    await Promise.all(clones.map((clone) => clone.destroy()));
    plan.onClones?.(plan.clones - left + some);
  }
}

async function beats(sandbox: Sandbox): Promise<number> {
  return Number(await sandbox.sh('tail -n 1 /root/beats'));
}
