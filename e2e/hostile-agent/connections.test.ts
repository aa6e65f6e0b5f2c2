import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Socket } from '../harness/socket.ts';
import { HostileLab } from './lab.ts';

const PORT = 8000;
const SERVERS = [
  ...['web-garbage', 'web-endless', 'web-status', 'web-reason', 'web-value', 'web-both', 'web-length'],
  ...['web-chunk', 'web-100', 'web-103', 'web-101', 'web-never', 'web-two'],
];

let lab: HostileLab;
beforeAll(async () => {
  lab = await HostileLab.start();
}, 300_000);
afterAll(() => lab[Symbol.asyncDispose](), 120_000);

describe('an agent that lies about connections', () => {
  it.each(SERVERS)('a preview: %s', async (lie) => {
    await lab.survives(async () => {
      const outcome = await lab.outcomeOf(`preview/${PORT}/@${lie}`);
      expect([200, 502, 504, 'cut off']).toContain(outcome);
    });
    await lab.goesOn();
  });

  it('a terminal', async () => {
    await lab.survives(async () => {
      using terminal = await Socket.open(lab.client.url, `${lab.sandbox.path}/pty?cols=600`);
      await terminal.closed;
    });
    await lab.goesOn();
  });

  it.each([601, 602])('a tunnel: %d', async (port) => {
    await lab.survives(async () => {
      const { status, json } = await lab.sandbox.post('tunnel', { port });
      if (status !== 200) return;
      const { tunnel_id: id } = json as { tunnel_id: string };
      using tunnel = await Socket.open(lab.client.url, `${lab.sandbox.path}/tunnel/${id}/ws`, { raw: true });
      await Promise.race([tunnel.closed, new Promise((resolve) => setTimeout(resolve, 5000))]);
    });
    await lab.goesOn();
  });
});
