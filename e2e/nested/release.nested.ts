import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FEW_TAPS, sh } from './host.ts';

/** Its own of everything, so that nothing comes from the checkout. The machine has no npm, and no way to a registry. */
const ENV = {
  ...FEW_TAPS,
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ATOLL_CACHE_DIR: '/srv/cache',
  SERVICE_STATE_DIR: '/srv/state',
  SERVICE_SNAPSHOTS_DIR: '/srv/state/snapshots',
  SERVICE_BOOT_TIMEOUT_SECS: '900',
};

beforeAll(async () => {
  await sh(
    'mkdir -p /srv/release && tar --zstd -xf /mnt/atoll-*.tar.zst -C /srv/release --strip-components=1',
  );
});

afterAll(() => sh('cd /srv/release && bash host/stop.sh', ENV));

test('the quickstart of a packed release boots a sandbox and runs a program, without a network', async () => {
  const said = await sh('cd /srv/release && bash host/quickstart.sh', ENV);
  expect(said).toContain('Hello from Python');
  expect(said).toContain('Atoll is up at http://127.0.0.1:7777');

  expect(await readFile('/srv/state/daemon.log', 'utf8')).toMatch(/accelerator\W+kvm\b/);
  const pid = (await readFile('/srv/state/daemon.pid', 'utf8')).trim();
  expect(await sh(`ps -o args= -p ${pid}`)).toContain('/srv/release/packages/daemon/dist/main.js');
});
