import { once } from 'node:events';
import { Socket } from '../../e2e/harness/socket.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';

const KEYS_A_ROUND = 10;

/** From a key to its echo on a terminal, through the service and through the agent alone. */
export const terminal: Scenario = {
  name: 'terminal',
  title: 'Terminal, from a key to its echo',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const id = await service.create();
    using socket = await Socket.open(service.http.url, `/sandboxes/${id}/pty`, { raw: true });
    socket.ws.send('stty raw echo; printf ready; cat >/dev/null\n');
    let shown = '';
    while (!shown.includes('readyready') && !/\$0|ready$/.test(shown)) {
      const [data] = (await once(socket.ws, 'message')) as [Buffer];
      shown += data.toString();
    }
    const { vcpuCount, memSizeMib } = bare.config.sizes;
    await using machine = await bare.boot({ vcpuCount, memSizeMib });
    const signal = AbortSignal.timeout(600_000);
    const measured = await inRounds(rounds * KEYS_A_ROUND, async () => ({
      service: await timeOf(async () => {
        socket.ws.send('x');
        await once(socket.ws, 'message');
      }),
      ping: await timeOf(() => machine.session.health(signal)),
    }));
    socket.ws.close();
    await service.destroy(id);
    return {
      series: [
        { name: 'key to echo', unit: 'ms', values: measured.map((each) => each.service) },
        { name: 'the agent’s answer to a ping', unit: 'ms', values: measured.map((each) => each.ping) },
      ],
      goals: [],
    };
  },
};
