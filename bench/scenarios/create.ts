import { execBare } from '../bare.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { median, medianRatio } from '../statistics.ts';

/** A cold create and its first command, beside the same QEMU started by hand and the same command through its agent. */
export const create: Scenario = {
  name: 'create',
  title: 'Cold create to the first output',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const { vcpuCount, memSizeMib } = bare.config.sizes;
    const measured = await inRounds(rounds, async () => {
      await using machine = await bare.boot({ vcpuCount, memSizeMib });
      const bareExec = await timeOf(() => execBare(machine.session, 'echo', ['hello']));
      // Gone before the other starts, which has the host to itself then as this one had, and the memory that this one was given.
      await machine[Symbol.asyncDispose]();
      let id = '';
      const created = await timeOf(async () => (id = await service.create()));
      const exec = await timeOf(() => service.exec(id, 'echo', ['hello']));
      await service.destroy(id);
      return { boot: machine.took, bare: machine.took + bareExec, created, service: created + exec };
    });
    const of = (key: keyof (typeof measured)[number]) => measured.map((each) => each[key]);
    return {
      series: [
        { name: 'bare QEMU, to its agent’s answer', unit: 'ms', values: of('boot') },
        { name: 'bare QEMU, to the output', unit: 'ms', values: of('bare') },
        { name: 'POST /sandboxes', unit: 'ms', values: of('created') },
        { name: 'service, to the output', unit: 'ms', values: of('service') },
      ],
      goals: [
        atMost('service / bare', medianRatio(of('service'), of('bare')), 1.1, '×'),
        atMost('bare QEMU, to its agent’s answer', median(of('boot')), 850, 'ms'),
      ],
    };
  },
};
