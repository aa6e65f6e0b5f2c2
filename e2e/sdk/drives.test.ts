import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab, sh, thrown } from './lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('create attach list and delete a drive', async () => {
  const { Drive, ConflictError, NotFoundError } = lab.sdk;
  const connect = { client: lab.client };
  const drive = await Drive.create({ size_mib: 16 }, connect);
  expect(drive).toMatchObject({ size_mib: 16, attached_to: [] });
  {
    await using sandbox = await lab.create({ drives: [{ id: drive.id }] });
    await sh(sandbox, `echo kept >/mnt/drives/${drive.id}/file`);
    const [listed] = await Drive.list(connect);
    expect(listed?.attached_to).toEqual([{ holder: `sandbox ${sandbox.id}`, read_only: false }]);
    expect(await thrown(drive.delete())).toBeInstanceOf(ConflictError);
  }
  await using other = await lab.create({ drives: [{ id: drive.id, read_only: true }] });
  expect(await sh(other, `cat /mnt/drives/${drive.id}/file`)).toBe('kept');
  await other.stop({ keep: false });
  await drive.delete();
  expect(await Drive.list(connect)).toEqual([]);
  expect(await thrown(Drive.delete(drive.id, connect))).toBeInstanceOf(NotFoundError);
});
