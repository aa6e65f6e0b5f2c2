import { join } from 'node:path';
import { execBare } from '../bare.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { median, medianRatio } from '../statistics.ts';

/** Resume and fork with a first command, beside the same QEMU driven by hand with disk and memory ready and no network set up. */
export const resume: Scenario = {
  name: 'resume',
  title: 'Resume and fork to the first output',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const snapshotsDir = join(service.daemon.stateDir, 'snapshots');
    const measured = await inRounds(rounds, async () => {
      // A new one each time: beyond some layers the daemon puts them together behind its answer, while the bare machine's are copied.
      let id = await service.create();
      await service.exec(id, 'echo', ['hello']);
      const snapshot = await service.snapshot(id);
      await using machine = await bare.resume(snapshotsDir, snapshot);
      const bareExec = await timeOf(() => execBare(machine.session, 'echo', ['hello']));
      await machine[Symbol.asyncDispose]();

      let forked = '';
      const fork = await timeOf(async () => {
        forked = await service.bringUp(`${snapshot}/fork`);
        await service.exec(forked, 'echo', ['hello']);
      });
      await service.destroy(forked);

      const resumed = await timeOf(async () => (id = await service.bringUp(`${snapshot}/resume`)));
      const exec = await timeOf(() => service.exec(id, 'echo', ['hello']));
      await service.destroy(id);
      await service.deleteCheckpoint(snapshot);
      return { answer: machine.took, bare: machine.took + bareExec, resumed, service: resumed + exec, fork };
    });
    const of = (key: keyof (typeof measured)[number]) => measured.map((each) => each[key]);
    return {
      series: [
        { name: 'bare QEMU, to its agent’s answer', unit: 'ms', values: of('answer') },
        { name: 'POST …/resume', unit: 'ms', values: of('resumed') },
        { name: 'bare QEMU, to the output', unit: 'ms', values: of('bare') },
        { name: 'resume, to the output', unit: 'ms', values: of('service') },
        { name: 'fork, to the output', unit: 'ms', values: of('fork') },
      ],
      goals: [
        atMost('resume / bare, to the answer', medianRatio(of('resumed'), of('answer')), 1.3, '×'),
        atMost('resume / bare, to the output', medianRatio(of('service'), of('bare')), 1.25, '×'),
        atMost('resume, to the output', median(of('service')), 80, 'ms'),
      ],
    };
  },
};
