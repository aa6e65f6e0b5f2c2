import { BARE_ADDRESS, execBare } from '../bare.ts';
import { inRounds } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { requestRate } from '../load.ts';
import { atLeast } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { medianRatio } from '../statistics.ts';

const PORT = 8000;
const CONNECTIONS = 32;
const FOR_MS = 3000;

/** A server that answers every request alike, on connections that stay open, with as little work as Python can. */
const SERVER = `
import asyncio
ANSWER = b'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n'
class Server(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.head = transport, b''
    def data_received(self, data):
        self.head += data
        while b'\\r\\n\\r\\n' in self.head:
            self.head = self.head.split(b'\\r\\n\\r\\n', 1)[1]
            self.transport.write(ANSWER)
async def main():
    server = await asyncio.get_running_loop().create_server(Server, '0.0.0.0', ${PORT}, backlog=512)
    await server.serve_forever()
asyncio.run(main())
`;
const START = `nohup python3 -c "$0" >/dev/null 2>&1 & until python3 -c "import socket; socket.create_connection(('127.0.0.1', ${PORT}), 1)" 2>/dev/null; do sleep 0.1; done`;

/** Requests a second through a preview, beside the same server reached over a network card. */
export const preview: Scenario = {
  name: 'preview',
  title: 'Preview, 32 connections',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const { vcpuCount, memSizeMib } = bare.config.sizes;
    const id = await service.create();
    await service.exec(id, 'sh', ['-c', START, SERVER]);
    await using machine = await bare.boot({ vcpuCount, memSizeMib });
    await bare.connectNetwork(machine);
    await execBare(machine.session, 'sh', ['-c', START, SERVER]);
    const measured = await inRounds(Math.max(2, Math.round(rounds / 3)), async () => ({
      preview: await requestRate(`${service.http.url}/sandboxes/${id}/preview/${PORT}/`, CONNECTIONS, FOR_MS),
      direct: await requestRate(`http://${BARE_ADDRESS}:${PORT}/`, CONNECTIONS, FOR_MS),
    }));
    await service.destroy(id);
    const of = (key: keyof (typeof measured)[number]) => measured.map((each) => each[key]);
    return {
      series: [
        { name: 'preview', unit: 'requests/s', values: of('preview') },
        { name: 'the server reached directly', unit: 'requests/s', values: of('direct') },
      ],
      goals: [atLeast('preview / direct', medianRatio(of('preview'), of('direct')), 0.5, '×')],
    };
  },
};
